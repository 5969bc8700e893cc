// The drop-in in many languages on the narrowest of phones: nothing is cut off, and nothing lies over anything else.

import { cutOff } from "../../crates/browser/test/cut-off.mjs";

const LIMIT = 40_000;

/** What does not fit in one language, by what was looked at, and how the language shows. */
async function inLanguage(context, { page: address, session, number }, locale) {
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(`${address}?${new URLSearchParams({ session, locale })}`);
  const form = page.frameLocator("#pay .body iframe");
  const frame = () => page.frames().find((one) => one.url().includes("/frame.html"));
  const misfits = {};
  const look = async (what) => {
    // Nothing is judged in the middle of a transition; one that is cancelled is over, too.
    await page.evaluate(() => Promise.all(document.querySelector("#pay").shadowRoot.getAnimations().map((one) => Number.isFinite(one.effect.getComputedTiming().endTime) && one.finished.catch(() => undefined))));
    const found = await cutOff([page, frame()].filter(Boolean));
    if (found.length > 0) misfits[what] = found;
  };
  await form.locator("#number").waitFor();
  const spoken = await form.locator("html").evaluate((root) => `${root.lang} ${root.dir}`);
  await look("the form");
  await form.locator("form .pay").click();
  await form.locator("#number[aria-invalid]").waitFor();
  await look("errors");
  for (const method of await page.locator("#pay .toggle:visible").evaluateAll((toggles) => toggles.map(({ id }) => id))) {
    if ((await page.locator(`#pay #${method}`).getAttribute("aria-expanded")) === "false") await page.locator(`#pay #${method}`).click();
    await look(method);
  }
  await page.locator("#pay #card").click();
  for (const [field, value] of [["number", number], ["expiry", "1231"], ["code", "123"], ["name", "Ada Lovelace"]]) await form.locator(`#${field}`).fill(value);
  await form.locator("form .pay").click();
  await form.locator(".notice p").waitFor();
  await look("a declined card");
  await page.close();
  return { locale, spoken, misfits, problems };
}

/** Each of `input.shoppers` has a Session of its own, a card that is declined, and a `locale`. */
export async function narrow(browser, input) {
  const context = await browser.newContext({ viewport: { width: 320, height: 700 } });
  const seen = [];
  for (const { locale, ...shopper } of input.shoppers) seen.push(await inLanguage(context, shopper, locale));
  return seen;
}
