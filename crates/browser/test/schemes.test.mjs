// Co-badged cards: the shopper chooses the scheme, by a part that is loaded for such cards alone and that sends no digit anywhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endPanel, fill, openShop, until, useWorld, world } from "./harness.mjs";
import { CARDS, CB, CO_BADGED } from "./mock-server.mjs";
import { load } from "./source.mjs";

useWorld();

const FRENCH = { currency: "EUR", PaymentMethods: [...CARDS, CB] };
const parts = (shop) => shop.frameOf().evaluate(() => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname).filter((path) => path.endsWith("/schemes.js")).length);
const choices = (shop) => shop.frame.locator(".schemes input");
const chosen = (shop) => shop.frame.locator(".schemes input:checked").getAttribute("value");

test("the shopper of a co-badged card chooses the scheme, which the submit names; the stash has the card alone", async () => {
  const session = world.mock.session(FRENCH);
  const shop = await openShop({ session });
  await shop.field("number").pressSequentially(CO_BADGED.slice(0, 15));
  assert.equal(await shop.frame.locator(".schemes:not([hidden])").count(), 0, "no number tells yet");
  await shop.field("number").pressSequentially(CO_BADGED.slice(15));
  await choices(shop).first().waitFor();
  assert.deepEqual(await shop.frame.locator(".schemes label > span").allInnerTexts(), ["Visa", "Cartes Bancaires"]);
  assert.equal(await shop.frame.getByRole("group", { name: "Choose the card brand to pay with" }).count(), 1);
  assert.match(await shop.said(), /Choose the card brand to pay with: Visa or Cartes Bancaires/);
  assert.equal(await chosen(shop), "VISA");
  await fill(shop, { number: CO_BADGED });
  await shop.frame.getByLabel("Cartes Bancaires").check();
  assert.match(await shop.frame.locator(".number .mark").innerHTML(), /CB/, "the mark in the field is of the scheme that is chosen");
  await shop.button().click();
  await endPanel(shop, "done");
  const [order] = shop.orders();
  assert.equal(order.PaymentMethod, "CB");
  assert.ok(order.StashId);
  const stashed = new URLSearchParams(world.mock.calls("POST", `/${order.AttemptId}`)[0].body);
  assert.deepEqual(Object.keys(JSON.parse(stashed.get("card"))).sort(), ["Expiry", "Name", "Number", "VerificationCode"]);
  const [paid] = await shop.paid();
  assert.equal(paid.method, "CB");
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("what is not chosen is paid by the scheme of the number, and a decline keeps the choice", async () => {
  const session = world.mock.session({ ...FRENCH, faults: { submit: [503] } });
  const shop = await openShop({ session });
  await fill(shop, { number: CO_BADGED });
  await choices(shop).first().waitFor();
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(new Set(shop.orders().map(({ PaymentMethod }) => PaymentMethod)), new Set(["VISA"]));
  await shop.context.close();
});

test("another number takes the choice away, and a card of one scheme is asked nothing", async () => {
  const shop = await openShop({ session: world.mock.session(FRENCH) });
  await fill(shop, { number: CO_BADGED });
  await shop.frame.getByLabel("Cartes Bancaires").check();
  await shop.field("number").fill("4242424242424242");
  await until(async () => (await shop.frame.locator(".schemes").isHidden()) === true, "the choice to go");
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal("PaymentMethod" in shop.orders()[0], false);
  await shop.context.close();
});

test("the part is loaded for a number alone, and only where the Session takes a second scheme", async () => {
  const loads = () => world.mock.requests.filter(({ path }) => path.endsWith("/schemes.js")).length;
  const before = loads();
  const plain = await openShop({ session: world.mock.session() });
  await fill(plain, { number: CO_BADGED });
  await plain.button().click();
  await endPanel(plain, "done");
  assert.equal("PaymentMethod" in plain.orders()[0], false, "what is not offered is not chosen");
  assert.equal(loads(), before);
  await plain.context.close();
  const french = await openShop({ session: world.mock.session(FRENCH) });
  assert.equal(await parts(french), 0);
  await french.field("number").pressSequentially("4");
  await until(async () => (await parts(french)) > 0, "the part to be loaded");
  await french.field("number").fill(CO_BADGED);
  await choices(french).first().waitFor();
  const asked = world.mock.requests.length;
  await french.field("number").fill("");
  await until(() => french.frame.locator(".schemes").isHidden(), "the choice to go");
  await french.field("number").fill(CO_BADGED);
  await choices(french).first().waitFor();
  assert.equal(world.mock.requests.length, asked, "nobody is asked about a number");
  await french.context.close();
});

test("a card whose own scheme is not taken is paid by the other one, and nothing is asked", async () => {
  const shop = await openShop({ session: world.mock.session({ ...FRENCH, PaymentMethods: [CARDS[1], CB] }) });
  await fill(shop, { number: CO_BADGED });
  await until(async () => (await shop.frame.locator("#number-error").isHidden()) && (await shop.enabled()).at(-1) === true, "the card to be right");
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal(shop.orders()[0].PaymentMethod, "CB");
  assert.equal(await shop.page.locator("#pay iframe").count(), 0);
  await shop.context.close();
});

test("where the part does not come, the card is paid by the scheme of its number", async () => {
  const context = await world.browser.newContext();
  await context.route("**/schemes.js*", (route) => route.abort());
  const shop = await openShop({ session: world.mock.session(FRENCH), context });
  await fill(shop, { number: CO_BADGED });
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal("PaymentMethod" in shop.orders()[0], false);
  await context.close();
});

test("the choice is made by keyboard, and not while the payment is under way", async () => {
  const session = world.mock.session({ ...FRENCH, slow: true });
  const shop = await openShop({ session });
  await fill(shop, { number: CO_BADGED });
  await choices(shop).first().waitFor();
  await shop.field("number").focus();
  await shop.page.keyboard.press("Tab");
  assert.equal(await shop.frame.locator(":focus").getAttribute("value"), "VISA");
  await shop.page.keyboard.press("ArrowDown");
  assert.equal(await chosen(shop), "CB");
  await shop.button().click();
  await until(() => world.mock.calls("POST", `${session}/submit`).length === 1, "the submit");
  assert.equal(shop.orders()[0].PaymentMethod, "CB");
  assert.equal(await choices(shop).first().getAttribute("aria-disabled"), "true");
  world.mock.finish(session);
  await endPanel(shop, "done");
  await shop.context.close();
});

test("a number lies in the ranges that its first digits tell", async () => {
  const { longestPrefix } = await load("shared/prefixes.ts");
  const isIn = (digits, ranges) => longestPrefix(digits, ranges.split(" ")) > 0;
  const ranges = "4000002500001001 401005-401006 497000-497999 513000-513799";
  for (const [digits, expected] of [[CO_BADGED, true], ["401005", true], ["401007", false], ["497010", true], ["49701", false], ["513799", true], ["513800", false], ["4000002500003155", false], ["", false]]) {
    assert.equal(isIn(digits, ranges), expected, digits);
  }
});
