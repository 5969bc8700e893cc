// The sandbox's on-site messages about paying later, on a merchant's page: shown with right data, and not there with wrong ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENGINE, useWorld, world } from "./harness.mjs";

useWorld();

const PRODUCT = { "data-key": "product", "data-locale": "de-AT", "data-purchase-amount": "2999" };
const INFO = { "data-key": "info-page", "data-locale": "de-AT" };

/** A merchant's page with the script and these placements; `texts()` is what each shows, null for nothing at all. */
async function page({ placements, region = "eu", client = "merchant-1.eu", path = "/strict", lang = "en" }) {
  const context = await world.browser.newContext({ viewport: { width: 360, height: 700 } });
  const opened = await context.newPage();
  const problems = [];
  opened.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  opened.on("pageerror", (error) => problems.push(String(error)));
  const query = new URLSearchParams({ onsite: region, client, placements: JSON.stringify(placements), lang });
  const loaded = opened.waitForResponse((response) => response.url().endsWith("/script.js"));
  await opened.goto(`${world.mock.shopUrl}${path}?${query}`);
  await loaded;
  await opened.waitForLoadState();
  const texts = () => opened.locator("pay-later-placement").evaluateAll((all) => all.map((one) => (one.getBoundingClientRect().height === 0 ? null : one.shadowRoot.textContent)));
  return { page: opened, context, problems, texts };
}

const plain = (text) => text?.replace(/\s/g, " ");

test("each region's message says how its shoppers may pay, and the parts are the whole", async () => {
  const cases = [
    ["eu", "de-AT", "2999", "Später zahlen Jetzt kaufen und in 14, 21 oder 30 Tagen zahlen oder in 3 Raten: zuerst € 10,01, dann je € 9,99. So funktioniert das spätere Zahlen"],
    ["eu", "en_GB", "3000", "Pay later Buy now and pay in 14, 21 or 30 days, or in 3 payments of £10.00. How paying later works"],
    ["eu", "sv-SE", "100000", "Pay later Buy now and pay in 14, 21 or 30 days, or in 3 payments: 333,34 kr first, then 333,33 kr each. How paying later works"],
    ["na", "en-US", "2999", "Pay later Buy now and pay in 30 days, or in 4 payments: $7.52 first, then $7.49 each. How paying later works"],
    ["oc", "en-AU", "4", "Pay later Buy now and pay in 4 payments of $0.01. How paying later works"],
    ["eu", "ar-DE", "3000", ENGINE === "chromium" ? /^ادفع لاحقًا اشترِ الآن وادفع خلال 14 أو 21 أو 30 يومًا، أو على 3 دفعات قيمة كل منها .*10[.,]00.* كيف يعمل الدفع لاحقًا$/ : /^ادفع لاحقًا اشترِ الآن وادفع خلال 14 أو 21 أو 30 يومًا، أو على 3 دفعات قيمة كل منها .*(?:10[.,]00|١٠٫٠٠).* كيف يعمل الدفع لاحقًا$/],
  ];
  for (const [region, locale, amount, expected] of cases) {
    const { texts, context, problems } = await page({ region, client: `sandbox-${region}`, placements: [{ ...PRODUCT, "data-locale": locale, "data-purchase-amount": amount }] });
    const [shown, ...others] = (await texts()).map(plain);
    if (expected instanceof RegExp) assert.match(shown, expected);
    else assert.equal(shown, expected, `${region} ${locale}`);
    assert.deepEqual(others, []);
    assert.deepEqual(problems, []);
    await context.close();
  }
});

test("the questions open from the message and from the footer, under the strictest policy, for the keyboard too", async () => {
  for (const path of ["/strict", "/isolated"]) {
    const shop = await page({ path, placements: [PRODUCT, INFO] });
    const [, faq] = await shop.texts();
    assert.equal(faq, "So funktioniert das spätere Zahlen");
    const link = shop.page.locator("pay-later-placement").last().getByRole("button");
    await link.focus();
    await shop.page.keyboard.press("Enter");
    const dialog = shop.page.getByRole("dialog", { name: "So funktioniert das spätere Zahlen" });
    await dialog.waitFor();
    assert.match(await dialog.innerText(), /sofort, in 14, 21 oder 30 Tagen oder in 3 Raten/);
    assert.equal(await dialog.evaluate((one) => one.matches(":modal") && one.scrollWidth <= one.clientWidth), true);
    await shop.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await link.evaluate((button) => button.getRootNode().activeElement === button), true, "the focus returns");
    await shop.page.locator("pay-later-placement").first().getByRole("button").click();
    await dialog.getByRole("button", { name: "Schließen" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  }
});

test("Arabic runs from right to left, in the message and in the questions, on a page that does not", async () => {
  const shop = await page({ placements: [{ ...PRODUCT, "data-locale": "ar-DE" }, PRODUCT] });
  const look = (one) => one.evaluate((element) => [getComputedStyle(element).direction, element.closest("[lang]").lang]);
  const [arabic, german] = [0, 1].map((index) => shop.page.locator("pay-later-placement").nth(index));
  assert.deepEqual(await look(arabic.locator(".message")), ["rtl", "ar-DE"]);
  assert.deepEqual(await look(german.locator(".message")), ["ltr", "de-AT"]);
  await arabic.getByRole("button").click();
  const dialog = shop.page.getByRole("dialog", { name: "كيف يعمل الدفع لاحقًا" });
  await dialog.waitFor();
  assert.deepEqual(await look(dialog), ["rtl", "ar-DE"]);
  assert.match(await dialog.innerText(), /فورًا أو خلال 14 أو 21 أو 30 يومًا أو على 3 دفعات/);
  assert.equal(await dialog.evaluate((one) => one.scrollWidth <= one.clientWidth), true);
  await dialog.getByRole("button", { name: "إغلاق" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("wrong data show nothing and leave no room; right ones beside them are not hurt", async () => {
  const amounts = ["29.99", "29,99", "-2999", "+2999", "0", "007", "", " 2999", "2999 ", "1e4", "0x10", "NaN", "٢٩٩٩", "9999999999999", "2999<b>"];
  const locales = ["", "de", "AT", "de-at", "DE-AT", "de-AT-x", "xx-AT", "de-US", "de-XX", "en-AU", "javascript:0", "de--AT", "../en-GB"];
  const keys = ["", "Product", "constructor", "__proto__", "toString", "faq", "info-page "];
  const without = (name) => Object.fromEntries(Object.entries(PRODUCT).filter(([key]) => key !== name));
  const wrong = [
    ...amounts.map((amount) => ({ ...PRODUCT, "data-purchase-amount": amount })),
    ...locales.flatMap((locale) => [{ ...PRODUCT, "data-locale": locale }, { ...INFO, "data-locale": locale }]),
    ...keys.map((key) => ({ ...PRODUCT, "data-key": key })),
    ...Object.keys(PRODUCT).map(without), { "data-key": "info-page" }, {},
  ];
  const shop = await page({ placements: [...wrong, PRODUCT, INFO] });
  const texts = await shop.texts();
  for (const [index, placement] of wrong.entries()) assert.equal(texts[index], null, JSON.stringify(placement));
  assert.ok(texts.at(-2) !== null && texts.at(-1) !== null);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("another region's client id, none, or an unknown region show nothing", async () => {
  for (const [region, client] of [["eu", ""], ["eu", "sandbox-na"], ["na", "sandbox-eu-7"], ["eu", "two words"], ["eu", "x".repeat(129)], ["eu", "<b>"]]) {
    const locale = region === "na" ? "en-US" : "de-AT";
    const shop = await page({ region, client, placements: [{ ...PRODUCT, "data-locale": locale }, { ...INFO, "data-locale": locale }] });
    assert.deepEqual(await shop.texts(), [null, null], `${region} ${client}`);
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  }
  for (const region of ["us", "constructor"]) {
    const shop = await page({ region, placements: [PRODUCT] });
    assert.deepEqual(await shop.texts(), [null]);
    await shop.context.close();
  }
});

test("a placement follows its attributes, and one that comes later is drawn", async () => {
  const shop = await page({ placements: [PRODUCT] });
  const change = (name, value) => shop.page.locator("pay-later-placement").first().evaluate((one, [name, value]) => one.setAttribute(name, value), [name, value]);
  await change("data-purchase-amount", "6000");
  assert.match(plain((await shop.texts())[0]), /3 Raten zu € 20,00/);
  await change("data-purchase-amount", "60.00");
  assert.deepEqual(await shop.texts(), [null]);
  await change("data-purchase-amount", "6000");
  await change("data-locale", "en-US");
  assert.deepEqual(await shop.texts(), [null]);
  await shop.page.evaluate((attributes) => {
    const late = document.createElement("pay-later-placement");
    for (const [name, value] of Object.entries(attributes)) late.setAttribute(name, value);
    document.querySelector("main").append(late);
  }, INFO);
  assert.equal((await shop.texts())[1], "So funktioniert das spätere Zahlen");
  await shop.context.close();
});
