// Firefox by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/), without a driver beside it. It says the same as `WebKit` in webkit.mjs.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
// Node.js has a client of its own from 22 on; this one comes with Playwright.
import { ws as WebSocket } from "playwright-core/lib/utilsBundle";
import { keyActions } from "./keys.mjs";

const FIREFOX = process.env.FIREFOX_PATH ?? "/usr/bin/firefox-esr";
const START_MS = 30_000;
/** As long as a frame is taken for the one that was found. */
const PLACE_MS = 1_000;

/** What the browser is told to be like; `dark` is its shopper's colours, `forced` their own for all that is shown. */
function preferences({ dark = false, forced = false }) {
  return {
    // A proxy for 127.0.0.1 and localhost, too.
    "network.proxy.allow_hijacking_localhost": true,
    // A window that nobody sees has the focus all the same.
    "focusmanager.testmode": true,
    // A page reads the clipboard without asking its shopper.
    "dom.events.testing.asyncClipboard": true,
    "layout.css.prefers-color-scheme.content-override": dark ? 0 : 1,
    ...(forced && { "browser.display.document_color_use": 2 }),
  };
}

export class Firefox {
  waiting = new Map();
  counter = { sent: 0 };
  /** Contexts of frames, by how they were found. */
  places = new Map();

  static async launch(look = {}) {
    const engine = new Firefox();
    engine.profile = mkdtempSync(join(tmpdir(), "dropin-firefox-"));
    const lines = Object.entries(preferences(look)).map(([name, value]) => `user_pref("${name}", ${value});\n`);
    writeFileSync(join(engine.profile, "user.js"), lines.join(""));
    engine.process = spawn(FIREFOX, ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", engine.profile], { stdio: ["ignore", "ignore", "pipe"] });
    const address = await new Promise((resolve, reject) => {
      setTimeout(reject, START_MS, new Error("Firefox does not start")).unref();
      engine.process.once("error", () => reject(new Error("Firefox is missing: cargo xtask test --only install installs firefox-esr")));
      createInterface(engine.process.stderr).on("line", (line) => {
        const found = /WebDriver BiDi listening on (ws:\S+)/.exec(line);
        if (found) resolve(`${found[1]}/session`);
      });
    });
    engine.socket = new WebSocket(address);
    await new Promise((resolve, reject) => engine.socket.on("open", resolve).on("error", reject));
    engine.socket.on("message", (data) => engine.heard(JSON.parse(data)));
    await engine.send("session.new", { capabilities: {} });
    const { contexts } = await engine.send("browsingContext.getTree", {});
    engine.page = contexts[0].context;
    await engine.resize(1280, 900);
    return engine;
  }

  /** Processes by what they look like, and contexts in them. */
  static async launchForContexts() {
    const running = new Map();
    const launch = (look) => {
      const key = JSON.stringify(look);
      if (!running.has(key)) running.set(key, Firefox.launch(look));
      return running.get(key);
    };
    return {
      context: async ({ proxy, ...look }) => (await launch(look)).context(proxy),
      close: async () => {
        for (const engine of await Promise.all(running.values())) await engine.close();
      },
    };
  }

  /** The same browser with storage of its own, whose pages ask `proxy` for everything. */
  async context(proxy) {
    const { userContext } = await this.send("browser.createUserContext", { acceptInsecureCerts: true, proxy: { proxyType: "manual", httpProxy: proxy, sslProxy: proxy, noProxy: [] } });
    return Object.assign(Object.create(this), { userContext });
  }

  async closeContext() {
    await this.send("browser.removeUserContext", { userContext: this.userContext });
  }

  /** A window beside the first page's, so that both are drawn. */
  async newPage(isFirst) {
    return (await this.send("browsingContext.create", { type: isFirst ? "tab" : "window", userContext: this.userContext })).context;
  }

  async closePage() {
    await this.send("browsingContext.close", { context: this.page });
  }

  /** The page that is meant from here on. */
  select(page) {
    this.page = page;
  }

  async activate() {
    await this.send("browsingContext.activate", { context: this.page });
  }

  async back() {
    this.places.clear();
    await this.send("browsingContext.traverseHistory", { context: this.page, delta: -1 });
  }

  /** Gives the page a window of this size. */
  async resize(width, height) {
    await this.send("browsingContext.setViewport", { context: this.page, viewport: { width, height } });
  }

  send(method, params) {
    const id = (this.counter.sent += 1);
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
  }

  heard({ id, type, result, error, message }) {
    const asked = this.waiting.get(id);
    this.waiting.delete(id);
    if (type === "success") asked?.resolve(result);
    else asked?.reject(new Error(`BiDi ${asked.method}: ${error} ${message}`));
  }

  async open(url) {
    this.places.clear();
    await this.send("browsingContext.navigate", { context: this.page, url, wait: "complete" });
  }

  /** Calls a function, as text, in a document; what it returns as BiDi writes it. */
  async call(context, functionDeclaration, given = []) {
    const args = given.map((value) => ({ type: "string", value }));
    const { type, result, exceptionDetails } = await this.send("script.callFunction", { functionDeclaration, arguments: args, target: { context }, awaitPromise: true });
    if (type !== "success") throw new Error(exceptionDetails.text);
    return result;
  }

  /** The document of the last of the frames. */
  async inside(finds) {
    let context = this.page;
    for (const find of finds) ({ context } = (await this.call(context, `() => (${find})().contentWindow`)).value);
    return context;
  }

  run(code, ...args) {
    return this.runIn([], code, ...args);
  }

  runIn(finds, code, ...args) {
    const wrapped = `async (given) => JSON.stringify((await (${code})(...JSON.parse(given))) ?? null)`;
    return this.within(finds, async (context) => JSON.parse((await this.call(context, wrapped, [JSON.stringify(args)])).value));
  }

  /** Acts in a frame; where it was the last time, it may still be. */
  async within(finds, act) {
    const place = [this.page, ...finds].join();
    const known = this.places.get(place);
    // A document that was left answers no more.
    if (known && Date.now() < known.ends) {
      try {
        return await act(known.context);
      } catch (error) {
        this.places.delete(place);
        if (!/no such frame/.test(error.message)) throw error;
      }
    }
    const context = await this.inside(finds);
    this.places.set(place, { context, ends: Date.now() + PLACE_MS });
    return act(context);
  }

  click(finds, find, count = 1) {
    return this.within(finds, (context) => this.clickIn(context, find, count));
  }

  async clickIn(context, find, count) {
    const { sharedId } = await this.call(context, `() => { const one = (${find})(); one.scrollIntoView({ block: "center" }); return one; }`);
    const move = { type: "pointerMove", x: 0, y: 0, origin: { type: "element", element: { sharedId } } };
    const actions = [move, ...Array(count).fill([{ type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }]).flat()];
    await this.send("input.performActions", { context, actions: [{ type: "pointer", id: "mouse", actions }] });
  }

  /** The document that has the focus: keys are pressed there, and a Tab may leave it. */
  async focused() {
    const inner = `() => { let one = document.activeElement; while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement; return one?.localName === "iframe" ? one.contentWindow : null; }`;
    for (let context = this.page; ; ) {
      const { type, value } = await this.call(context, inner);
      if (type !== "window") return context;
      ({ context } = value);
    }
  }

  async press(...keys) {
    while (keys.length > 0) {
      const named = keys.findIndex((key) => key.length > 1);
      const together = keys.splice(0, named < 0 ? keys.length : named + 1);
      const context = await this.focused();
      await this.send("input.performActions", { context, actions: [{ type: "key", id: "keyboard", actions: keyActions(together) }] });
    }
  }

  async close() {
    this.socket?.close();
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill();
    await ended;
    rmSync(this.profile, { recursive: true, force: true });
  }
}
