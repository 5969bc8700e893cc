// WebKit by WebDriver (https://www.w3.org/TR/webdriver2/): WebKitGTK's driver starts its MiniBrowser on a display of its own that nobody sees.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keyActions } from "./keys.mjs";
import { SCRIPT_TIMEOUT_MS } from "./pretended.mjs";

const DRIVER = "/usr/bin/WebKitWebDriver";
const LIBRARIES = "/usr/lib";
const START_MS = 20_000;
/** As long as a frame is taken for the one that was found. */
const PLACE_MS = 1_000;
/** How WebDriver says that a value is an element. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
/** Where Debian keeps the browser that the driver is made for. */
function miniBrowser() {
  const places = readdirSync(LIBRARIES).filter((name) => name.includes("linux-gnu")).flatMap((name) =>
    readdirSync(`${LIBRARIES}/${name}`).filter((folder) => folder.startsWith("webkit2gtk-") || folder.startsWith("webkitgtk-")).map((folder) => `${LIBRARIES}/${name}/${folder}/MiniBrowser`));
  const found = places.filter(existsSync).sort().at(-1);
  if (found === undefined || !existsSync(DRIVER)) throw new Error("WebKit is missing: cargo xtask test --only install installs webkit2gtk-driver");
  return found;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

/** Settings of the window around a page: its buttons take no room, which would make it wider than a phone. */
const SMALL = "toolbar, toolbar *, headerbar, headerbar *, entry, button, image { padding: 0; margin: 0; min-width: 0; min-height: 0; border: 0; font-size: 1px; -gtk-icon-source: none; } toolbutton, toolbutton button { margin: -2px; }";

function settings() {
  const folder = mkdtempSync(join(tmpdir(), "dropin-webkit-"));
  mkdirSync(join(folder, "gtk-3.0"));
  writeFileSync(join(folder, "gtk-3.0/gtk.css"), SMALL);
  return folder;
}

/** A display in memory; its number, and the process. */
async function display() {
  const server = spawn("Xvfb", ["-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"], { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const failed = once(server, "error").then(([error]) => Promise.reject(error));
  const [number] = await Promise.race([once(server.stdio[3], "data"), failed]);
  return { server, name: `:${String(number).trim()}` };
}

export class WebKit {
  /** Windows that were closed, to be used again: the browser ends with its last one. */
  free = [];

  static async launch({ screen, proxy, dark = false } = {}) {
    const binary = miniBrowser();
    const engine = new WebKit();
    if (!screen) engine.screen = await display();
    const port = await freePort();
    engine.settings = settings();
    const environment = { ...process.env, XDG_CONFIG_HOME: engine.settings, LANG: "en_US.UTF-8", LC_ALL: "en_US.UTF-8", LANGUAGE: "en_US", DISPLAY: (screen ?? engine.screen).name, GTK_THEME: dark ? "Adwaita:dark" : "Adwaita", GDK_BACKEND: "x11", LIBGL_ALWAYS_SOFTWARE: "1", WEBKIT_DISABLE_COMPOSITING_MODE: "1", NO_AT_BRIDGE: "1" };
    engine.driver = spawn(DRIVER, [`--port=${port}`, "--host=127.0.0.1"], { env: environment, stdio: "ignore" });
    engine.url = `http://127.0.0.1:${port}`;
    const options = { binary, args: ["--automation"] };
    const manual = proxy && { proxy: { proxyType: "manual", httpProxy: proxy, sslProxy: proxy } };
    const capabilities = { alwaysMatch: { browserName: "MiniBrowser", acceptInsecureCerts: true, "webkitgtk:browserOptions": options, timeouts: { script: SCRIPT_TIMEOUT_MS }, ...manual } };
    const end = Date.now() + START_MS;
    for (;;) {
      try {
        const { sessionId } = await engine.call("POST", "/session", { capabilities });
        engine.url += `/session/${sessionId}`;
        return engine;
      } catch (error) {
        if (Date.now() > end) {
          await engine.close();
          throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** A browser for each context: what a browser keeps is one for all of its windows. */
  static async launchForContexts() {
    const screen = await display();
    const running = new Set();
    return {
      context: async (look) => {
        const engine = await WebKit.launch({ ...look, screen });
        running.add(engine);
        return engine;
      },
      close: async () => {
        for (const engine of running) await engine.close();
        screen.server.kill();
      },
    };
  }

  async closeContext() {
    await this.close();
  }

  async newPage(isFirst) {
    if (isFirst) return (this.page = await this.call("GET", "/window"));
    return this.free.pop() ?? (await this.call("POST", "/window/new", { type: "window" })).handle;
  }

  async closePage() {
    await this.open("about:blank");
    this.free.push(this.page);
  }

  /** The page that is meant from here on. */
  async select(page) {
    if (page === this.page) return;
    this.place = undefined;
    await this.call("POST", "/window", { handle: page });
    this.page = page;
  }

  /** Its windows lie beside each other. */
  activate() {}

  async back() {
    this.place = undefined;
    await this.call("POST", "/back", {});
  }

  async call(method, path, body) {
    const answer = await fetch(`${this.url}${path}`, { method, ...(body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }) });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`WebDriver ${path}: ${value?.error} ${value?.message}`);
    return value;
  }

  async open(url) {
    this.place = undefined;
    await this.call("POST", "/url", { url });
  }

  /** Gives the page a window of this size; what the browser shows around it is not counted. */
  async resize(width, height) {
    const frame = await this.run(() => [outerWidth - innerWidth, outerHeight - innerHeight]);
    await this.call("POST", "/window/rect", { width: width + frame[0], height: height + frame[1] });
  }

  /** Runs `code`, a function, in the page; what it returns is JSON, or a promise of it. */
  run(code, ...args) {
    return this.runIn([], code, ...args);
  }

  /** The same in the frame that `find` finds from the document before, one after the other. */
  runIn(finds, code, ...args) {
    return this.within(finds, () => this.execute(code, args));
  }

  /** Acts in a frame. It is gone to only where the driver is elsewhere: going there takes the focus along. */
  async within(finds, act) {
    const place = finds.join();
    // A frame that was taken away still answers.
    if (place === this.place && Date.now() < this.placeEnds) {
      try {
        return await act();
      } catch (error) {
        if (!/no such (?:frame|window)/.test(error.message)) throw error;
      }
    }
    this.place = undefined;
    await this.call("POST", "/frame", { id: null });
    for (const find of finds) await this.call("POST", "/frame", { id: await this.execute(find, []) });
    this.place = place;
    this.placeEnds = Date.now() + PLACE_MS;
    return act();
  }

  execute(code, args) {
    const script = `const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1);
      Promise.resolve((${code})(...given)).then((value) => done(value ?? null), (error) => done({ thrown: String(error) }));`;
    return this.call("POST", "/execute/async", { script, args }).then((value) => {
      if (value?.thrown) throw new Error(value.thrown);
      return value;
    });
  }

  /** Clicks what `find` finds in the page, or in the last of the frames. */
  click(finds, find, count = 1) {
    return this.within(finds, () => this.clickHere(find, count));
  }

  async clickHere(find, count) {
    const element = await this.execute(find, []);
    if (count === 1) return this.call("POST", `/element/${element[ELEMENT]}/click`, {});
    const actions = [{ type: "pointerMove", x: 0, y: 0, origin: element }, ...Array(count).fill([{ type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }]).flat()];
    return this.call("POST", "/actions", { actions: [{ type: "pointer", id: "mouse", actions }] });
  }

  /** To look into a frame takes the focus there; where nothing in it has the focus, it is given back. */
  async giveFocusBack() {
    const active = "() => { let one = document.activeElement; while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement; return one; }";
    if (!(await this.run(`() => (${active})()?.localName === "iframe"`))) return;
    const isIdle = await this.runIn([active], "() => document.activeElement === document.body").catch(() => false);
    // To where a Tab begins in a page that is new.
    if (isIdle) await this.run(() => {
      const start = Object.assign(document.createElement("span"), { tabIndex: -1 });
      document.body.prepend(start);
      start.focus();
      start.remove();
    });
  }

  /** Presses keys one after the other, as a keyboard does: characters, or names such as `Tab` and `Shift+Tab`. */
  async press(...keys) {
    await this.giveFocusBack();
    const actions = keyActions(keys);
    await this.call("POST", "/actions", { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  async close() {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.call("DELETE", "").catch(() => {});
    for (const child of [this.driver, this.screen?.server]) child?.kill();
    rmSync(this.settings, { recursive: true, force: true });
  }
}
