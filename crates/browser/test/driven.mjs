// Firefox and WebKit by the part of Playwright's interface that the tests use, so that a test written for Chromium runs there as it stands. What an engine cannot do
// stands in README.md, and at the test, which is skipped there.

import { FIND, SEEN, steps } from "./finding.mjs";
import { Firefox } from "./firefox.mjs";
import { Gateway, globOf } from "./gateway.mjs";
import { asFunction, Locator, pause, wait } from "./locator.mjs";
import { clock, PROBLEMS } from "./pretended.mjs";
import { WebKit } from "./webkit.mjs";

const ENGINES = { firefox: Firefox, webkit: WebKit };
/** Of what is asked of a frame that moves meanwhile. */
const MOST_TRIES = 3;
/** Of looking whether a window has its size, before it is asked for again. */
const RESIZE_TRIES = 20;
/** The window that a context has unless it says otherwise. */
const VIEWPORT = { width: 1280, height: 900 };
/** What a context may be asked for; the engines speak English of the United States and grant the clipboard, where they have it, anyway. */
const CONTEXT_OPTIONS = ["viewport", "colorScheme", "forcedColors", "locale", "permissions"];

/** Text that calls `code`, with what is given. */
const called = (code, ...given) => `(${asFunction(code)})(${given.map((one) => JSON.stringify(one)).join()})`;

/** Whether an address is what `waitForURL` and `route` name. */
const fitsOf = (pattern) => (pattern instanceof RegExp ? pattern : pattern.includes("*") ? globOf(pattern) : { test: (url) => url === pattern });

/** A document: the page's own, or that of a frame in it. */
class Scope {
  /** `finds` are functions, as text, of which each finds a frame in the document before. */
  constructor(page, finds, address) {
    this.page = page;
    this.finds = finds;
    this.address = address;
  }

  /** `null` while the frame is not there. */
  async run(code, ...args) {
    const { page } = this;
    // As JSON, `undefined` stays what it is.
    const wrapped = `async (...given) => JSON.stringify({ value: await (${code})(...given), address: location.href, problems: window.__problems?.splice(0) })`;
    for (let tries = 0; ; tries += 1) {
      try {
        const { value, address, problems } = JSON.parse(await page.alone((engine) => engine.runIn(this.finds, wrapped, ...args)));
        this.address = address;
        page.complain(problems);
        return value;
      } catch (error) {
        // A frame may come or load anew in between.
        if (this.finds.length === 0 || tries === MOST_TRIES) throw error;
        if (!(await page.has(this.finds))) return null;
        await pause();
      }
    }
  }

  click(find, count) {
    return this.page.alone((engine) => engine.click(this.finds, find, count));
  }

  evaluate(code, arg) {
    return this.run(asFunction(code), arg);
  }

  /** As of when it was last asked something. */
  url() {
    return this.address;
  }

  locator(css, options) {
    return new Locator(this, []).locator(css, options);
  }

  getByRole(role, options) {
    return new Locator(this, []).getByRole(role, options);
  }

  getByText(text, options) {
    return new Locator(this, []).getByText(text, options);
  }

  getByLabel(text, options) {
    return new Locator(this, []).getByLabel(text, options);
  }

  frameLocator(css) {
    return new Scope(this.page, [...this.finds, `() => (${FIND})(${JSON.stringify(steps(css))})[0]`]);
  }

  parentFrame() {
    return this.finds.length > 0;
  }

  /** Whether it is the page's own document, or all that holds it is seen. */
  async isShown() {
    if (this.finds.length === 0) return true;
    const outside = new Scope(this.page, this.finds.slice(0, -1));
    const isSeen = await outside.run(`() => { const one = (${this.finds.at(-1)})(); return one !== undefined && (${SEEN})(one); }`);
    return Boolean(isSeen) && outside.isShown();
  }

  /** Where its document begins in the page's window. */
  async corner() {
    if (this.finds.length === 0) return { x: 0, y: 0 };
    const outside = new Scope(this.page, this.finds.slice(0, -1));
    const inside = await outside.run(`() => { const one = (${this.finds.at(-1)})(); const { x, y } = one.getBoundingClientRect(); return { x: x + one.clientLeft, y: y + one.clientTop }; }`);
    const corner = await outside.corner();
    return { x: inside.x + corner.x, y: inside.y + corner.y };
  }

  async frameElement() {
    return { isVisible: () => this.isShown() };
  }
}

class Page extends Scope {
  listeners = [];

  constructor(context, handle) {
    super(null, [], "about:blank");
    this.page = this;
    this.context = context;
    this.handle = handle;
    this.clock = context.clock;
    this.keyboard = { type: (text) => this.alone((engine) => engine.press(...text)), press: (key) => this.alone((engine) => engine.press(key)) };
  }

  /** One after the other: WebDriver knows one window and one frame at a time. */
  alone(act) {
    return this.context.alone(async (engine) => {
      await engine.select(this.handle);
      return act(engine);
    });
  }

  /** Whether there is a frame where `finds` lead to. */
  has(finds) {
    return this.alone((engine) => engine.runIn(finds.slice(0, -1), `() => (${finds.at(-1)})() !== undefined`)).catch(() => false);
  }

  mainFrame() {
    return this;
  }

  goto(url) {
    return this.alone((engine) => engine.open(url));
  }

  async goBack() {
    const before = this.address;
    await this.alone((engine) => engine.back());
    await wait(() => this.run("() => document.readyState === 'complete'").then((isThere) => isThere && this.address !== before, () => false), "the page before");
  }

  async waitForURL(pattern) {
    const fits = fitsOf(pattern);
    await wait(() => this.run("() => document.readyState === 'complete'").then((isThere) => isThere && fits.test(this.address), () => false), `the page ${pattern}`);
  }

  async waitForResponse(fits) {
    let found;
    this.context.on("response", (response) => {
      if (fits(response)) found ??= response;
    });
    await wait(() => found, "a response");
    return found;
  }

  async waitForLoadState() {
    await wait(() => this.run("() => document.readyState === 'complete'"), "the page to be loaded");
  }

  bringToFront() {
    return this.alone((engine) => engine.activate());
  }

  close() {
    return this.alone((engine) => engine.closePage());
  }

  /** Its document and all that are nested in it. */
  async frames() {
    const any = (index) => `() => (${FIND})(${JSON.stringify(steps("iframe"))})[${index}]`;
    const all = [this];
    for (const scope of all) {
      const count = (await scope.run(`() => (${FIND})(${JSON.stringify(steps("iframe"))}).filter(({ contentWindow }) => contentWindow).length`)) ?? 0;
      for (let index = 0; index < count; index += 1) all.push(new Scope(this, [...scope.finds, any(index)]));
    }
    return all;
  }

  async setViewportSize({ width, height }) {
    const isSo = () => this.run((width, height) => innerWidth === width && innerHeight === height, width, height);
    const fits = async () => {
      // WebKit's window may still be on its way to another size.
      await this.alone((engine) => engine.resize(width, height));
      for (let tries = 0; tries < RESIZE_TRIES && !(await isSo()); tries += 1) await pause();
      return isSo();
    };
    await wait(fits, `a window of ${width} by ${height} pixels`);
  }

  on(kind, listener) {
    this.listeners.push([kind, listener]);
  }

  /** Tells the listeners what a document has complained of. */
  complain(problems = []) {
    for (const [kind, text] of problems) {
      const told = kind === "console" ? { type: () => "error", text: () => text } : text;
      for (const [wanted, listener] of this.listeners) if (wanted === kind) listener(told);
    }
  }

  addInitScript(code, arg) {
    return this.context.addInitScript(code, arg);
  }
}

/** Windows that share what a browser keeps, behind a gateway of their own. */
class Context {
  pages = [];
  last = Promise.resolve();
  jumped = 0;

  constructor({ engine, gateway, viewport }) {
    Object.assign(this, { engine, gateway, viewport });
    gateway.scripts.push(PROBLEMS);
    this.clock = {
      install: () => this.pretend(() => clock(this.jumped)),
      fastForward: async (ms) => {
        this.jumped += ms;
        await this.everywhere((ms) => window.__clock?.fastForward(ms), ms);
      },
      setSystemTime: (time) => this.everywhere((time) => window.__clock?.setSystemTime(time), time),
    };
  }

  alone(act) {
    const done = this.last.then(() => act(this.engine));
    this.last = done.catch(() => {});
    return done;
  }

  async newPage() {
    const page = new Page(this, await this.alone((engine) => engine.newPage(this.pages.length === 0)));
    this.pages.push(page);
    await page.setViewportSize(this.viewport);
    return page;
  }

  /** Runs in all documents that there are. */
  async everywhere(code, arg) {
    for (const page of this.pages) for (const frame of await page.frames()) await frame.evaluate(code, arg);
  }

  /** Runs now, and before the scripts of all documents that come. */
  async pretend(script) {
    this.gateway.scripts.push(script);
    await this.everywhere(`() => { ${script()} }`);
  }

  async addInitScript(code, arg) {
    this.gateway.scripts.push(called(code, ...(arg === undefined ? [] : [arg])));
  }

  async route(pattern, handler) {
    this.gateway.routes.push([fitsOf(pattern), handler]);
  }

  on(kind, listener) {
    this.gateway.listeners.push([kind, listener]);
  }

  async setOffline(isOffline) {
    this.gateway.setOffline(isOffline);
  }

  async close() {
    await this.alone((engine) => engine.closeContext());
    this.gateway.stop();
    // Else what a route's handler found wrong would look like a connection that broke.
    if (this.gateway.error) throw this.gateway.error;
  }
}

/** A browser, for one test file. */
export class Driven {
  gateways = [];

  static async launch(name) {
    const driven = new Driven();
    driven.browser = await ENGINES[name].launchForContexts();
    return driven;
  }

  async newContext(options = {}) {
    const unknown = Object.keys(options).filter((name) => !CONTEXT_OPTIONS.includes(name));
    if (unknown.length > 0) throw new Error(`a context of Firefox or WebKit knows no ${unknown.join()}, only ${CONTEXT_OPTIONS.join()}`);
    const { viewport = VIEWPORT, colorScheme, forcedColors } = options;
    const gateway = await new Gateway().start();
    const engine = await this.browser.context({ proxy: gateway.address, dark: colorScheme === "dark", forced: forcedColors === "active" });
    this.gateways.push(gateway);
    return new Context({ engine, gateway, viewport });
  }

  async close() {
    await this.browser.close();
    // A test that failed has closed nothing.
    for (const gateway of this.gateways) gateway.stop();
  }
}
