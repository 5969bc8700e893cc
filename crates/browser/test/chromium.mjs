// Chromium by Playwright. It says the same as `Firefox` in firefox.mjs and `WebKit` in webkit.mjs.

import { chromium } from "playwright-core";
import { executablePath, FLAGS } from "./browser.mjs";

/** A function as text, called with what is given: as the other engines take it. */
const called = (code, args) => `(${code})(...${JSON.stringify(args)})`;

export class Chromium {
  static async launch() {
    const engine = new Chromium();
    engine.browser = await chromium.launch({ executablePath, args: FLAGS });
    engine.page = await engine.browser.newPage({ viewport: { width: 1280, height: 900 }, locale: "en-US" });
    return engine;
  }

  async open(url) {
    await this.page.goto(url);
  }

  /** The document of the last of the frames. */
  async inside(finds) {
    let frame = this.page.mainFrame();
    for (const find of finds) frame = await (await frame.evaluateHandle(called(find, []))).asElement().contentFrame();
    return frame;
  }

  run(code, ...args) {
    return this.runIn([], code, ...args);
  }

  async runIn(finds, code, ...args) {
    return (await (await this.inside(finds)).evaluate(called(code, args))) ?? null;
  }

  async click(finds, find) {
    const frame = await this.inside(finds);
    await (await frame.evaluateHandle(called(find, []))).asElement().click();
  }

  async press(...keys) {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async close() {
    await this.browser.close();
  }
}
