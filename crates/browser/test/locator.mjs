// Elements of a document in Firefox or WebKit, as Playwright's `Locator` has them: each call finds them anew, and waits for what it needs.

import { byLabel, byRole, byText, FIND, nth, SEEN, steps } from "./finding.mjs";

const WAIT_MS = 15_000;
const POLL_MS = 50;

export const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/** Waits until `condition` holds. */
export async function wait(condition, what, ms = WAIT_MS) {
  for (const end = Date.now() + ms; ; await pause()) {
    if (await condition()) return;
    if (Date.now() > end) throw new Error(`waited ${ms / 1000} s for: ${what}`);
  }
}

/** Text of a function, or an expression, to run in the browser. */
export const asFunction = (code) => (typeof code === "function" ? String(code) : /^\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*=>/.test(code) ? code : `() => { ${code} }`);

export class Locator {
  constructor(scope, path) {
    this.scope = scope;
    this.path = path;
  }

  step(...more) {
    return new Locator(this.scope, [...this.path, ...more]);
  }

  locator(css, options) {
    return this.step(...steps(css, options));
  }

  getByRole(role, options) {
    return this.step(byRole(role, options));
  }

  getByText(text, options) {
    return this.step(byText(text, options));
  }

  getByLabel(text, options) {
    return this.step(byLabel(text, options));
  }

  nth(index) {
    return this.step(nth(index));
  }

  first() {
    return this.nth(0);
  }

  last() {
    return this.nth(-1);
  }

  /** What `code` makes of all elements, or `null` while their frame is not there. */
  ask(code, ...args) {
    return this.scope.run(`(steps, ...given) => (${code})((${FIND})(steps), ...given)`, this.path, ...args);
  }

  evaluateAll(code, arg) {
    return this.ask(asFunction(code), arg);
  }

  async evaluate(code, arg) {
    await this.waitFor({ state: "attached" });
    return this.ask(`([one], given) => (${asFunction(code)})(one, given)`, arg);
  }

  async count() {
    return (await this.ask("(all) => all.length")) ?? 0;
  }

  /** A frame that is not shown may keep its boxes. */
  async isVisible() {
    return ((await this.ask(`([one]) => one !== undefined && (${SEEN})(one)`)) ?? false) && this.scope.isShown();
  }

  async isHidden() {
    return !(await this.isVisible());
  }

  isChecked() {
    return this.evaluate((one) => one.checked);
  }

  isDisabled() {
    return this.evaluate((one) => one.matches(":disabled") || one.closest("[aria-disabled=true]") !== null);
  }

  async waitFor({ state = "visible", timeout } = {}) {
    const test = {
      visible: () => this.isVisible(),
      attached: async () => (await this.count()) > 0,
      hidden: () => this.isHidden(),
      detached: async () => (await this.count()) === 0,
    }[state];
    await wait(test, `${JSON.stringify(this.path)} to be ${state}`, timeout);
  }

  getAttribute(name) {
    return this.evaluate((one, name) => one.getAttribute(name), name);
  }

  /** WebKit begins and ends the text of a flex container with line breaks. */
  async innerText() {
    return (await this.evaluate((one) => one.innerText)).replace(/^\n+|\n+$/g, "");
  }

  async allInnerTexts() {
    const texts = (await this.ask("(all) => all.map((one) => one.innerText)")) ?? [];
    return texts.map((text) => text.replace(/^\n+|\n+$/g, ""));
  }

  innerHTML() {
    return this.evaluate((one) => one.innerHTML);
  }

  textContent() {
    return this.evaluate((one) => one.textContent);
  }

  inputValue() {
    return this.evaluate((one) => one.value);
  }

  /** In the page's window, as far as it is from the frame's. */
  async boundingBox() {
    const { x, y, width, height } = await this.evaluate((one) => one.getBoundingClientRect().toJSON());
    const corner = await this.scope.corner();
    return { x: x + corner.x, y: y + corner.y, width, height };
  }

  /** Before the shopper has pressed anything, WebKit lets no script move the focus into a frame of another site. */
  async focus() {
    const take = () => this.evaluate((one) => (one.focus(), one.getRootNode().activeElement === one));
    if (await take()) return;
    await this.scope.page.keyboard.press("F9");
    if (!(await take()) && (await this.evaluate((one) => one.matches("input")))) await this.click();
  }

  async blur() {
    await this.focus();
    await this.evaluate((one) => one.blur());
  }

  /** Clicks once it is seen, stands still and takes clicks; `force` asks for none of it. */
  async click({ force = false } = {}, count = 1) {
    const still = `async ([one]) => {
      if (one === undefined || !(${SEEN})(one) || one.matches(":disabled") || one.closest("[aria-disabled=true]")) return false;
      one.scrollIntoView({ block: "center" });
      const place = () => JSON.stringify(one.getBoundingClientRect());
      const before = place();
      await new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); setTimeout(resolve, 100); });
      return before === place();
    }`;
    if (!force) await wait(() => this.ask(still), `${JSON.stringify(this.path)} to take a click`);
    await this.scope.click(`() => (${FIND})(${JSON.stringify(this.path)})[0]`, count);
  }

  dblclick() {
    return this.click({}, 2);
  }

  async check() {
    if (!(await this.isChecked())) await this.click();
  }

  /** Puts `text` in the place of what is there, as one edit. */
  async fill(text) {
    await wait(() => this.ask(`([one]) => one !== undefined && (${SEEN})(one) && !one.readOnly && !one.disabled`), `${JSON.stringify(this.path)} to take text`);
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
