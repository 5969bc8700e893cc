// The postcode that is asked for where the Session has none and the card's issuer compares it: of one attempt, in a part that is loaded for it alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENGINE, endPanel, fill, lacks, openShop, until, useWorld, world } from "./harness.mjs";
import { DECLINED, savedCard } from "./mock-server.mjs";

useWorld();

const BRITISH = { Name: "Postcode", Pattern: "[A-Za-z][0-9][ -]?[0-9][A-Za-z]{2}|[A-Za-z]{2}[0-9][A-Za-z][ -]?[0-9][A-Za-z]{2}", Example: "SW1A 1AA" };
const GERMAN = { Name: "Postcode", Pattern: "[0-9]{5}", Example: "10117" };
const asking = (field = BRITISH, more = {}) => world.mock.session({ AddressFields: [field], ...more });
const loads = () => world.mock.calls("GET", "/postcode.js").length;
const error = (shop) => shop.frame.locator("#postcode-error");

test("the postcode is asked for below the name, goes with the submit, and neither to the stash nor to the page", async () => {
  const shop = await openShop({ session: asking() });
  const field = shop.field("postcode");
  assert.equal(await shop.frame.getByLabel("Billing postcode").count(), 1);
  // WebKitGTK has no key to hint at.
  const told = { autocomplete: "billing postal-code", inputmode: "text", autocapitalize: "characters", ...(ENGINE !== "webkit" && { enterkeyhint: "go" }), "aria-required": "true", "aria-describedby": "postcode-hint" };
  assert.deepEqual(await field.evaluate((input, names) => Object.fromEntries(names.map((name) => [name, input.getAttribute(name)])), Object.keys(told)), told);
  assert.equal(await field.inputValue(), "", "nothing of what is stored");
  assert.equal(await shop.frame.locator("#postcode-hint").innerText(), "Of the address that your bank knows; for this payment only");
  await fill(shop);
  assert.notEqual((await shop.enabled()).at(-1), true, "it is still missing");
  await field.fill(" sw1a1aa ");
  await until(async () => (await shop.enabled()).at(-1) === true, "the form to be complete");
  await shop.button().click();
  await endPanel(shop, "done");
  const [order] = shop.orders();
  assert.deepEqual(order.BillingAddress, { Postcode: "sw1a1aa" });
  const [stashed] = world.mock.calls("POST", `/${order.StashId}`);
  assert.doesNotMatch(decodeURIComponent(stashed.body), /sw1a/i);
  assert.doesNotMatch(JSON.stringify(await shop.page.evaluate(() => [window.portMessages, window.windowMessages, { ...sessionStorage }])), /sw1a/i);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a postcode that is missing or of another form is named before anything is sent", async () => {
  const shop = await openShop({ session: asking(GERMAN) });
  await fill(shop);
  await shop.button().click();
  await error(shop).waitFor();
  assert.equal(await error(shop).innerText(), "Enter the postcode.");
  assert.equal(await shop.frame.locator(":focus").getAttribute("id"), "postcode");
  await shop.field("postcode").fill("1011");
  assert.equal(await error(shop).innerText(), "Check the postcode, such as 10117.");
  assert.equal(await shop.field("postcode").getAttribute("inputmode"), "numeric");
  assert.equal(shop.orders().length, 0);
  await shop.field("postcode").fill("١٠١١٧");
  await until(() => error(shop).isHidden(), "the error to go");
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(shop.orders()[0].BillingAddress, { Postcode: "10117" });
  await shop.context.close();
});

test("what the service refuses of it stands at the field, and a decline keeps it", async () => {
  const session = asking(BRITISH, { faults: { address: ["FIELD_INVALID"] } });
  const shop = await openShop({ session });
  await fill(shop, { number: DECLINED[0] });
  await shop.field("postcode").fill("SW1A 1AA");
  await shop.button().click();
  await error(shop).waitFor();
  assert.equal(await error(shop).innerText(), "Check the postcode, such as SW1A 1AA.");
  await shop.field("postcode").fill("M1 1AE");
  await shop.button().click();
  await shop.frame.locator("#notice", { hasText: "declined" }).waitFor();
  assert.equal(await shop.field("postcode").inputValue(), "M1 1AE");
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(shop.orders().map(({ BillingAddress }) => BillingAddress.Postcode), ["SW1A 1AA", "M1 1AE", "M1 1AE"]);
  await shop.context.close();
});

test("a Session that is changed meanwhile asks anew: another country's form, or nothing", async () => {
  const session = asking(GERMAN);
  const shop = await openShop({ session });
  await fill(shop);
  await shop.field("postcode").fill("10117");
  const stored = world.mock.entry(session).session;
  Object.assign(stored, { AddressFields: [BRITISH], Version: 2 });
  await shop.button().click();
  await until(async () => (await shop.field("postcode").getAttribute("inputmode")) === "text", "the other form");
  assert.equal(await shop.field("postcode").inputValue(), "", "a postcode of another country");
  delete stored.AddressFields;
  stored.Version = 3;
  await shop.field("postcode").fill("M1 1AE");
  await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button to work again");
  await shop.button().click();
  await until(async () => (await shop.field("postcode").count()) === 0, "the field to go");
  await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button to work again");
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal("BillingAddress" in shop.orders().at(-1), false);
  await shop.context.close();
});

test("nothing of it is loaded where nothing is asked, and a saved card and other methods are asked nothing", async () => {
  const before = loads();
  const plain = await openShop({ session: world.mock.session() });
  await fill(plain);
  await plain.button().click();
  await endPanel(plain, "done");
  assert.equal(loads(), before);
  assert.equal("BillingAddress" in plain.orders()[0], false);
  await plain.context.close();
  const card = savedCard("4242");
  const saved = await openShop({ session: asking(BRITISH, { SavedCards: [card] }), wait: false });
  await saved.field(`code-${card.ContractId}`).fill("123");
  await saved.frame.locator("form:has([id^=code-]) .pay").first().click();
  await endPanel(saved, "done");
  assert.equal("BillingAddress" in saved.orders()[0], false);
  await saved.context.close();
  const others = await openShop({ session: asking(BRITISH, { others: true }) });
  await others.payWith("banktransfer");
  await endPanel(others, "done");
  assert.equal("BillingAddress" in others.orders()[0], false);
  await others.context.close();
});

test("the form comes with the field, and nothing moves", lacks("layoutShifts"), async () => {
  const shop = await openShop({ session: asking(), prepare: () => {
    window.moved = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ value, hadRecentInput }) => !hadRecentInput && (window.moved += value))).observe({ type: "layout-shift", buffered: true });
  } });
  await fill(shop);
  assert.equal(await shop.page.evaluate(() => window.moved), 0);
  const [field, frame] = [await shop.field("postcode").boundingBox(), await shop.page.locator("#pay .body iframe").boundingBox()];
  assert.ok(field.y + field.height < frame.y + frame.height, "the frame is as high as the form");
  await shop.context.close();
});
