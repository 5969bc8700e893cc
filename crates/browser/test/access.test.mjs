// Accessibility and languages: axe finds nothing, in shell and frame, in every state, scheme and width; right to left works.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { cutOff } from "./cut-off.mjs";
import { ENGINE, endPanel, fill, lacks, openShop, status, until, useWorld, world } from "./harness.mjs";
import { CARDS, CB, CHALLENGED, CO_BADGED, savedCard } from "./mock-server.mjs";

useWorld();

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { tags } = JSON.parse(readFileSync(new URL("../languages.json", import.meta.url), "utf8"));
/** Those that are looked at: DROPIN_LANGUAGES names others, or "all"; the last two are made for this (pseudo.mjs). */
const asked = process.env.DROPIN_LANGUAGES ?? "en,de,ar,en-XA,en-XC";
const locales = asked === "all" ? [...tags, "en-XA", "en-XC"] : asked.split(",");

/** How many states were judged: `npm run every` tells. */
let judged = 0;
if (process.env.DROPIN_COUNT) after(() => console.log(`${ENGINE}: ${judged} times axe in ${locales.length} languages`));

/** Violations of all of axe's default rules, best practices included, in the page and all its frames together, as a shopper meets them. */
async function violationsIn(page) {
  for (const frame of await page.frames()) {
    if (!(await frame.evaluate(() => "axe" in window))) await frame.evaluate(axeSource);
    // Each frame is of another origin, and answers the page's axe.
    await frame.evaluate(() => window.axe.configure({ allowedOrigins: ["<unsafe_all_origins>"] }));
  }
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, any, all, none }) => `${target} ${[...any, ...all, ...none][0]?.message ?? ""}`).join("; ")}`);
  });
}

/** Nothing is judged in the middle of a transition. */
async function settled(frame) {
  await frame.evaluate(() => {
    const shadows = [...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
    const running = [document, ...shadows].flatMap((root) => root.getAnimations());
    const finite = running.filter((one) => Number.isFinite(one.effect.getComputedTiming().endTime));
    return Promise.all(finite.map((animation) => animation.finished.catch(() => {})));
  });
}

async function clean(shop, what) {
  for (const frame of await shop.page.frames()) {
    // Out of sight there is nothing to judge, and nothing is drawn.
    if (frame.parentFrame() && !(await (await frame.frameElement()).isVisible())) continue;
    await settled(frame);
  }
  judged += 1;
  assert.deepEqual(await violationsIn(shop.page), [], what);
}

/** The engines beside Chromium, which take far longer for it, are asked at one width. */
const WIDTHS = { desk: { width: 1280, height: 900 }, ...(ENGINE === "chromium" && { phone: { width: 390, height: 800 } }) };
const SMALLEST = { width: 320, height: 700 };
const SCHEMES = ["light", "dark"];

/** Draws the page and all of the drop-in in a scheme; the frame, where there still is one, hears of it from the shell. */
async function paint(shop, scheme) {
  await shop.page.evaluate((dark) => document.body.classList.toggle("dark", dark), scheme === "dark");
  const shell = () => shop.page.locator("#pay .root").getAttribute("data-scheme");
  const frame = async () => (await shop.frameOf()?.evaluate(() => document.documentElement.dataset.scheme)) ?? scheme;
  await until(async () => (await shell()) === scheme && (await frame()) === scheme, `the drop-in in ${scheme} colours`);
}

/** What is on the page now, judged in both schemes at both widths; it is left as it was. */
async function cleanEverywhere(shop, what) {
  for (const [where, size] of Object.entries(WIDTHS)) {
    await shop.page.setViewportSize(size);
    for (const scheme of SCHEMES) {
      await paint(shop, scheme);
      await clean(shop, `${what}, ${where}, ${scheme}`);
    }
    assert.equal(await shop.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${what}, ${where}: overflow`);
  }
  if (ENGINE === "chromium") assert.deepEqual(await misfits(shop), [], `${what}, ${SMALLEST.width} pixels wide`);
}

/** What does not fit on the narrowest of phones, in the page and in the frame. */
async function misfits(shop) {
  await shop.page.setViewportSize(SMALLEST);
  await settled(shop.page.mainFrame());
  return cutOff([shop.page, shop.frameOf()].filter(Boolean));
}

for (const lang of locales) {
  const open = (session, more = {}) => openShop({ session: world.mock.session({ Sandbox: true, ...session }), lang, ...more });

  test(`axe finds nothing in a card's payment in ${lang}`, async () => {
    const shop = await open({ PaymentMethods: [...CARDS, CB], AddressFields: [{ Name: "Postcode", Pattern: "[A-Z0-9 ]{5,8}", Example: "SW1A 1AA" }] });
    await cleanEverywhere(shop, "empty form");
    await shop.button().click();
    await cleanEverywhere(shop, "errors");
    // Its choice of schemes is judged with what follows.
    await fill(shop, { number: CO_BADGED, postcode: "M1" });
    await shop.frame.locator("#postcode-error:not([hidden])").waitFor();
    await fill(shop, { number: CO_BADGED, postcode: "SW1A 1AA" });
    await shop.frame.locator(".schemes label").first().waitFor();
    world.mock.change(shop.session, 31);
    await shop.button().click();
    await shop.frame.locator(".notice").waitFor();
    await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button to be ready");
    await cleanEverywhere(shop, "notice");
    await shop.button().click();
    await endPanel(shop, "done");
    await cleanEverywhere(shop, "done");
    await shop.context.close();
  });

  test(`axe finds nothing with the page's own button, and where a payment is followed, in ${lang}`, async () => {
    const shop = await open({ slow: true }, { options: { hideSubmitButton: true } });
    await fill(shop);
    await cleanEverywhere(shop, "own button");
    world.mock.entry(shop.session).session.State = "PROCESSING";
    await shop.go();
    await status(shop, "").waitFor();
    await cleanEverywhere(shop, "processing");
    world.mock.finish(shop.session, { failed: "PAYMENT_DECLINED" });
    await shop.field("number").waitFor();
    await cleanEverywhere(shop, "declined");
    world.mock.entry(shop.session).tries = 1;
    await fill(shop, { number: "4000000000000002" });
    // After a failure the form rests for a moment, and takes no press; the page hears when it does again.
    await until(async () => (await shop.enabled()).at(-1) === true, "the form to be ready");
    await shop.page.evaluate(() => window.instance.submitPayment());
    await until(() => world.mock.entry(shop.session).payments === 1, "the payment");
    await cleanEverywhere(shop, "paying");
    world.mock.finish(shop.session, { failed: "PAYMENT_DECLINED" });
    await endPanel(shop, "fail");
    await cleanEverywhere(shop, "failed");
    await shop.context.close();
  });

  test(`axe finds nothing in a wallet and methods beside cards in ${lang}`, async () => {
    const prepare = () => {
      window.ApplePaySession = class {
        static canMakePayments = () => true;
      };
      window.google = { payments: { api: { PaymentsClient: class {
        isReadyToPay = async () => ({ result: true });
      } } } };
    };
    const shop = await open({ others: true, wallet: "google" }, { prepare });
    for (const wallet of ["applepay", "googlepay"]) await shop.page.locator(`#pay .wallet .${wallet}`).waitFor();
    await shop.method("paypal").click();
    world.mock.change(shop.session, 31);
    await shop.payBy("paypal").click();
    await shop.panel("paypal").locator(".notice").waitFor();
    await until(async () => (await shop.payBy("paypal").getAttribute("aria-disabled")) === null, "the button to be ready");
    await cleanEverywhere(shop, "a method with a notice");
    await shop.method("banktransfer").click();
    await shop.payBy("banktransfer").click();
    await endPanel(shop, "done");
    await cleanEverywhere(shop, "bank details");
    await shop.context.close();
  });

  test(`axe finds nothing in the dialog of a bank in ${lang}`, async () => {
    const shop = await open();
    await fill(shop, { number: CHALLENGED });
    await shop.button().click();
    await shop.bank.locator("#confirm").waitFor();
    assert.equal((await shop.page.frames()).length, 4, "the shop, the form, the page in the dialog, and the bank's");
    await cleanEverywhere(shop, "dialog");
    await shop.dialog.locator(".close").click();
    await shop.goOn.waitFor();
    await until(async () => (await shop.page.frames()).length === 2, "the bank's page to go");
    await cleanEverywhere(shop, "waiting");
    await shop.context.close();
  });
}

for (const lang of locales) {
  test(`axe finds nothing in saved cards, and where a card may be saved, in ${lang}`, async () => {
    const SavedCards = [savedCard("4242"), savedCard("0005", { PaymentMethod: "AMEX", Scheme: "AMEX" }), savedCard("4444", { PaymentMethod: "MC", Scheme: "MC" })];
    const faults = { saved: [{ failed: "PAYMENT_DECLINED" }], remove: [503, 503, 503, 503] };
    const session = world.mock.session({ Sandbox: true, others: true, AllowsContract: "UNSCHEDULED", SavedCards, faults });
    const shop = await openShop({ session, lang, wait: false });
    const entry = (index) => shop.frame.locator(".accordion .entry").nth(index);
    const look = (what) => cleanEverywhere(shop, what);
    await entry(0).locator(".toggle").waitFor();
    await look("list");
    await entry(0).locator(".pay").click();
    await entry(0).locator(".begin").click();
    await look("an error, and the question");
    await entry(0).locator(".yes").click();
    await entry(0).locator(".question .error").waitFor();
    await look("not removed");
    await entry(0).locator("input").fill("123");
    await entry(0).locator(".pay").click();
    await entry(0).locator(".notice p").waitFor();
    await look("declined");
    await entry(3).locator(".toggle").click();
    await shop.frame.getByRole("checkbox").check();
    await look("a new card that is to be saved");
    await shop.method("paypal").click();
    await look("all cards closed");
    await shop.context.close();
  });
}

test("Arabic runs from right to left, numbers from left to right, and Arabic digits are taken", async () => {
  const shop = await openShop({ session: world.mock.session({ currency: "EGP" }), options: { locale: "ar_EG" } });
  assert.equal(await shop.frameOf().evaluate(() => `${document.documentElement.dir} ${document.documentElement.lang}`), "rtl ar-EG");
  assert.equal(await shop.page.locator("#pay .root").getAttribute("dir"), "rtl");
  assert.equal(await shop.page.locator("#pay iframe").getAttribute("title"), "بيانات البطاقة");
  assert.match(await shop.button().innerText(), /^ادفع .*٢٩٫٩٠/);
  const [expiry, code] = await Promise.all(["expiry", "code"].map((id) => shop.field(id).boundingBox()));
  assert.ok(expiry.x > code.x, "the first of the pair stands on the right");
  await shop.field("number").pressSequentially("٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢");
  assert.equal(await shop.field("number").inputValue(), "4242 4242 4242 4242");
  await shop.field("expiry").pressSequentially("۱۲۳۰");
  assert.equal(await shop.field("expiry").inputValue(), "12 / 30");
  await shop.field("code").pressSequentially("١٢٣");
  await shop.field("name").fill("ليلى حسن");
  await shop.button().click();
  await endPanel(shop, "done");
  await shop.context.close();
});

test("the language comes from the locale, the page, the browser, in that order", async () => {
  const cases = [
    [{ locale: "de_AT" }, "en", "de-AT"],
    [{ locale: "xx_YY" }, "de", "de"],
    [{}, "de-CH", "de-CH"],
    [{}, "", "en-US"],
    [{ locale: "tlh_QO" }, "qq", "en-US"],
    [{ locale: "no_NO" }, "de", "nb-NO"],
    [{}, "zh-HK", "zh-Hant-HK"],
  ];
  for (const [options, lang, expected] of cases) {
    const shop = await openShop({
      session: world.mock.session(), options, prepare: `document.documentElement.lang = ${JSON.stringify(lang)}`,
    });
    assert.equal(await shop.frameOf().evaluate(() => document.documentElement.lang), expected, JSON.stringify([options, lang]));
    await shop.context.close();
  }
});

/** Adds the presets of the look to the page, and puts one on the target. */
const preset = async (shop, name) => {
  await shop.page.evaluate(async ([address, chosen]) => {
    const sheet = new CSSStyleSheet();
    await sheet.replace(await (await fetch(address)).text());
    document.adoptedStyleSheets = [sheet];
    document.querySelector("#pay").className = chosen;
  }, [`${world.mock.assetUrl}/v1/appearance.css`, name]);
};

test("a preset of the look is a class: all of the drop-in follows it, and the page's own variables outweigh it", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true }) });
  const seen = async () => [
    await shop.page.locator("#pay .root").getAttribute("data-scheme"),
    await shop.frame.locator("#number").evaluate((input) => getComputedStyle(input).backgroundColor),
    await shop.frame.locator("form .pay").evaluate((button) => getComputedStyle(button).borderRadius),
  ];
  for (const [name, expected] of [["dropin-night", ["dark", "rgb(12, 16, 23)", "8px"]], ["dropin-rounded", ["light", "rgb(246, 243, 236)", "27px"]], ["", ["light", "rgb(255, 255, 255)", "8px"]]]) {
    await preset(shop, name);
    await until(async () => JSON.stringify(await seen()) === JSON.stringify(expected), `${name}: ${expected}`);
  }
  await shop.page.evaluate(() => {
    const own = new CSSStyleSheet();
    own.replaceSync("div { --button--border-radius: 3px; }");
    document.adoptedStyleSheets = [own, ...document.adoptedStyleSheets];
    document.querySelector("#pay").className = "dropin-night";
  });
  await until(async () => (await seen())[2] === "3px", "the page's own radius");
  assert.deepEqual(await seen(), ["dark", "rgb(12, 16, 23)", "3px"]);
  await shop.context.close();
});

test("axe finds nothing in any preset of the look", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true, Sandbox: true }) });
  await shop.button().click();
  for (const name of ["dropin-night", "dropin-flat", "dropin-rounded", "dropin-contrast"]) {
    await preset(shop, name);
    const dark = name === "dropin-night";
    await until(async () => (await shop.frameOf().evaluate(() => document.documentElement.dataset.scheme)) === (dark ? "dark" : "light"), name);
    await clean(shop, name);
  }
  await shop.context.close();
});

test("amounts have their currency's decimals", async () => {
  for (const [amount, currency, minorUnits, shown] of [[1980, "JPY", 0, "Pay ¥1,980"], [1.5, "KWD", 3, "Pay KWD 1.500"], [999999999999.99, "USD", 2, "Pay $999,999,999,999.99"]]) {
    const shop = await openShop({ session: world.mock.session({ amount, currency, minorUnits }) });
    assert.equal((await shop.button().innerText()).replace(/\u00a0/g, " "), shown);
    await shop.context.close();
  }
});

test("the live regions are there before anything is said, and say what happens", async () => {
  const session = world.mock.session();
  const shop = await openShop({ session, wait: false });
  assert.equal(await shop.page.locator("#pay [role=status]").textContent(), "");
  assert.equal(await shop.frame.locator("#live[aria-live=polite]").textContent(), "");
  await shop.field("number").waitFor();
  await shop.field("number").fill("4242424242424241");
  await shop.field("number").blur();
  assert.equal(await shop.frame.locator("#live").textContent(), "Check the card number for a typing mistake.");
  await shop.field("number").fill("4000000000000002");
  assert.equal(await shop.field("number").getAttribute("aria-invalid"), null);
  world.mock.entry(session).session.State = "PROCESSING";
  await fill(shop);
  await shop.button().click();
  await status(shop, "Your payment is being processed").waitFor();
  world.mock.finish(session, { State: "FAILED", ErrorCode: "PAYMENT_DECLINED" });
  await endPanel(shop, "fail");
  assert.match(await shop.page.locator("#pay [role=status]").textContent(), /did not go through.*declined/);
  await shop.context.close();
});

test("in the shopper's own colours every icon has the colour of text, and the sign of work is seen to turn", lacks("forcedColors"), async () => {
  const context = await world.browser.newContext({ forcedColors: "active", colorScheme: "dark", viewport: { width: 390, height: 800 } });
  const shop = await openShop({ session: world.mock.session({ slow: true, others: true }), context });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.entry(shop.session).payments === 1, "the payment");
  const text = await shop.page.evaluate(() => getComputedStyle(document.body).color);
  const icons = await shop.page.locator("#pay .icon:visible").evaluateAll((all) => all.map((icon) => getComputedStyle(icon).color));
  assert.deepEqual([...new Set(icons)], [text]);
  const [start, end] = await shop.frame.locator(".pay .spinner").evaluate((ring) => [getComputedStyle(ring).borderInlineStartColor, getComputedStyle(ring).borderInlineEndColor]);
  assert.notEqual(start, end);
  await context.close();
});
