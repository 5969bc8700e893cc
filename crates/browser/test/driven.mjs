// Firefox and WebKit by the part of Playwright's interface that the tests use, so that a test written for Chromium runs there as it stands. What
// an engine cannot do (a second context, requests that are held or changed, the shopper's own colours) throws `Unsupported`.

import { Firefox } from "./firefox.mjs";
import { WebKit } from "./webkit.mjs";

const ENGINES = { firefox: Firefox, webkit: WebKit };
const WAIT_MS = 15_000;
const POLL_MS = 20;
/** Of what is asked of a frame that moves meanwhile. */
const MOST_TRIES = 3;
/** The window that a context has unless it says otherwise. */
const VIEWPORT = { width: 1280, height: 900 };

export class Unsupported extends Error {}

const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/** Waits until `condition` holds. */
async function wait(condition, what) {
  for (const end = Date.now() + WAIT_MS; ; await pause()) {
    if (await condition()) return;
    if (Date.now() > end) throw new Error(`waited ${WAIT_MS / 1000} s for: ${what}`);
  }
}

/** Runs in the browser: the elements that steps lead to. Selectors reach into open shadow roots, as Playwright's do. */
function found(steps) {
  const below = (root, css) => {
    // The drop-in's target is the one place where a selector goes on behind a shadow root's edge.
    const inTarget = /^#pay (.+)/.exec(css);
    if (inTarget && root === document) return [...(document.querySelector("#pay")?.shadowRoot?.querySelectorAll(inTarget[1]) ?? [])];
    const shadows = [...root.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
    return [...root.querySelectorAll(css), ...shadows.flatMap((shadow) => below(shadow, css))];
  };
  let all = [document];
  for (const [kind, what] of steps) {
    if (kind === "css") all = [...new Set(all.flatMap((root) => below(root, what.replace(/^> /, ":scope > "))))];
    if (kind === "nth") all = [all.at(what)].filter(Boolean);
    if (kind === "text") all = all.filter((one) => one.innerText?.includes(what));
  }
  return all;
}

/** Runs in the browser: whether an element has a box that is seen. */
const seen = (one) => one.checkVisibility({ visibilityProperty: true, checkVisibilityCSS: true }) && one.getBoundingClientRect().height > 0;

const ROLES = { button: "button, [role=button]", checkbox: "input[type=checkbox]", radio: "input[type=radio]", heading: "[role=heading]" };

/** Text of a function, or an expression, to run in the browser. */
const asFunction = (code) => (typeof code === "function" ? String(code) : /^\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*=>/.test(code) ? code : `() => { ${code} }`);

class Locator {
  constructor(scope, steps) {
    this.scope = scope;
    this.steps = steps;
  }

  step(...more) {
    return new Locator(this.scope, [...this.steps, ...more]);
  }

  locator(css, { hasText } = {}) {
    return this.step(["css", css], ...(hasText ? [["text", hasText]] : []));
  }

  getByRole(role, { name } = {}) {
    return this.step(["css", ROLES[role]], ...(name ? [["text", name]] : []));
  }

  nth(index) {
    return this.step(["nth", index]);
  }

  first() {
    return this.nth(0);
  }

  last() {
    return this.nth(-1);
  }

  /** What `code` makes of all elements, or `null` while their frame is not there. */
  ask(code, ...args) {
    return this.scope.run(`(steps, ...given) => (${code})((${found})(steps), ...given)`, this.steps, ...args);
  }

  evaluateAll(code, arg) {
    return this.ask(asFunction(code), arg);
  }

  async evaluate(code, arg) {
    await this.waitFor({ state: "attached" });
    return this.ask(`([one], given) => (${asFunction(code)})(one, given)`, arg);
  }

  count() {
    return this.ask("(all) => all.length");
  }

  async isVisible() {
    return (await this.ask(`([one]) => one !== undefined && (${seen})(one)`)) ?? false;
  }

  async waitFor({ state = "visible" } = {}) {
    const test = {
      visible: `([one]) => one !== undefined && (${seen})(one)`,
      attached: "(all) => all.length > 0",
      hidden: `([one]) => one === undefined || !(${seen})(one)`,
      detached: "(all) => all.length === 0",
    }[state];
    await wait(async () => (await this.ask(test)) ?? (state === "hidden" || state === "detached"), `${JSON.stringify(this.steps)} to be ${state}`);
  }

  getAttribute(name) {
    return this.evaluate((one, name) => one.getAttribute(name), name);
  }

  innerText() {
    return this.evaluate((one) => one.innerText);
  }

  textContent() {
    return this.evaluate((one) => one.textContent);
  }

  inputValue() {
    return this.evaluate((one) => one.value);
  }

  boundingBox() {
    return this.evaluate((one) => one.getBoundingClientRect().toJSON());
  }

  focus() {
    return this.evaluate((one) => one.focus());
  }

  blur() {
    return this.evaluate((one) => one.blur());
  }

  /** Clicks once it is seen, stands still and takes clicks. */
  async click() {
    const still = `async ([one]) => {
      if (one === undefined || !(${seen})(one) || one.disabled) return false;
      one.scrollIntoView({ block: "center" });
      const place = () => JSON.stringify(one.getBoundingClientRect());
      const before = place();
      await new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); setTimeout(resolve, 100); });
      return before === place();
    }`;
    await wait(() => this.ask(still), `${JSON.stringify(this.steps)} to take a click`);
    await this.scope.click(`() => (${found})(${JSON.stringify(this.steps)})[0]`);
  }

  async check() {
    if (!(await this.evaluate((one) => one.checked))) await this.click();
  }

  /** Puts `text` in the place of what is there, as one edit. */
  async fill(text) {
    await wait(() => this.ask(`([one]) => one !== undefined && (${seen})(one) && !one.readOnly && !one.disabled`), `${JSON.stringify(this.steps)} to take text`);
    await this.ask(`([one], text) => {
      one.focus();
      one.select();
      if (document.execCommand(text === "" ? "delete" : "insertText", false, text) || one.value === text) return;
      // A frame without the window's focus takes no commands in WebKit.
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(one, text);
      one.setSelectionRange(text.length, text.length);
      one.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertText", data: text }));
    }`, text);
  }

  async pressSequentially(text) {
    await this.focus();
    await this.scope.page.keyboard.type(text);
  }

  async press(key) {
    await this.focus();
    await this.scope.page.keyboard.press(key);
  }
}

/** A document: the page's own, or that of a frame in it. */
class Scope {
  /** `finds` are functions, as text, of which each finds a frame in the document before. */
  constructor(page, finds) {
    this.page = page;
    this.finds = finds;
  }

  /** `null` while the frame is not there. */
  async run(code, ...args) {
    const { page } = this;
    for (let tries = 0; ; tries += 1) {
      try {
        return await page.alone((engine) => engine.runIn(this.finds, code, ...args));
      } catch (error) {
        // A frame may come or load anew in between.
        if (this.finds.length === 0 || tries === MOST_TRIES) throw error;
        if (!(await page.has(this.finds))) return null;
        await pause();
      }
    }
  }

  click(find) {
    return this.page.alone((engine) => engine.click(this.finds, find));
  }

  evaluate(code, arg) {
    return this.run(asFunction(code), arg);
  }

  locator(css, options) {
    return new Locator(this, []).locator(css, options);
  }

  getByRole(role, options) {
    return new Locator(this, []).getByRole(role, options);
  }

  frameLocator(css) {
    return new Scope(this.page, [...this.finds, `() => (${found})([["css", ${JSON.stringify(css)}]])[0]`]);
  }

  parentFrame() {
    return this.finds.length > 0;
  }

  /** What holds it in the document before. */
  async frameElement() {
    const outside = new Scope(this.page, this.finds.slice(0, -1));
    return { isVisible: () => outside.run(`() => (${seen})((${this.finds.at(-1)})())`) };
  }
}

class Page extends Scope {
  last = Promise.resolve();

  constructor(engine) {
    super(null, []);
    this.page = this;
    this.engine = engine;
    this.keyboard = { type: (text) => this.alone(() => engine.press(...text)), press: (key) => this.alone(() => engine.press(key)) };
  }

  /** One after the other: WebDriver knows one frame at a time. */
  alone(act) {
    const done = this.last.then(() => act(this.engine));
    this.last = done.catch(() => {});
    return done;
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

  /** Its document and all that are nested in it, at most three deep. */
  async frames() {
    const any = (index) => `() => (${found})([["css", "iframe"]])[${index}]`;
    const all = [this];
    for (const scope of all) {
      const count = (await scope.run(`() => (${found})([["css", "iframe"]]).filter(({ contentWindow }) => contentWindow).length`)) ?? 0;
      for (let index = 0; index < count; index += 1) all.push(new Scope(this, [...scope.finds, any(index)]));
    }
    return all;
  }

  async setViewportSize({ width, height }) {
    await this.alone((engine) => engine.resize(width, height));
    await wait(() => this.run((width) => innerWidth === width, width), `a window ${width} pixels wide`);
  }

  /** Neither engine tells of what a page complains of. */
  on() {}

  /** Only records what crosses the frame's edge: tests that read it run in Chromium. */
  async addInitScript() {}
}

class Context {
  constructor(engine) {
    this.engine = engine;
  }

  async newPage() {
    return new Page(this.engine);
  }

  async route() {
    throw new Unsupported("requests are held and changed in Chromium alone");
  }

  async addInitScript() {
    throw new Unsupported("scripts before a page's own run in Chromium alone");
  }

  on() {
    throw new Unsupported("requests are watched in Chromium alone");
  }

  /** The one window stays for the next test. */
  async close() {
    await this.engine.open("about:blank");
  }
}

const UNDERSTOOD = ["viewport", "locale", "colorScheme"];

/** A browser with one window, for one test file. */
export class Driven {
  static async launch(name) {
    const driven = new Driven();
    driven.engine = await ENGINES[name].launch();
    return driven;
  }

  async newContext({ viewport, ...more } = {}) {
    const unknown = Object.entries(more).filter(([name, value]) => value !== undefined && (!UNDERSTOOD.includes(name) || (name === "locale" && value !== "en-US") || name === "colorScheme"));
    if (unknown.length > 0) throw new Unsupported(`${unknown.map(([name]) => name)}: in Chromium alone`);
    await this.engine.open("about:blank");
    const { width, height } = viewport ?? VIEWPORT;
    await this.engine.resize(width, height);
    return new Context(this.engine);
  }

  close() {
    return this.engine.close();
  }
}
