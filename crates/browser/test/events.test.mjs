// What else the page is told: which method is opened, which attempt failed, and that the page is about to be left.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endPanel, fill, openShop, until, useWorld, world } from "./harness.mjs";
import { CHALLENGED } from "./mock-server.mjs";

useWorld();

const DECLINED = "4000000000000002";

/** A shop that writes down what the three callbacks are told, in the tab's storage, which outlives the page. */
async function telling(session) {
  const shop = await openShop({ session, wait: false });
  shop.tell = () => shop.page.evaluate((id) => {
    const keep = (name) => (given) => sessionStorage.setItem("told", JSON.stringify([...JSON.parse(sessionStorage.getItem("told") ?? "[]"), [name, given]]));
    const names = ["onMethodSelected", "onAttemptFailed", "onRedirect"];
    window.ready = false;
    window.dropin.init({ target: "#pay", id, onSuccess: () => {}, onReady: () => (window.ready = true), ...Object.fromEntries(names.map((name) => [name, keep(name)])) });
  }, session);
  shop.told = () => shop.page.evaluate(() => JSON.parse(sessionStorage.getItem("told") ?? "[]"));
  await shop.tell();
  await until(() => shop.page.evaluate(() => window.ready), "the drop-in");
  await shop.frame.locator("#code[aria-describedby]").waitFor({ state: "attached" });
  return shop;
}

test("the page hears which method the shopper opens or closes, from onReady on", async () => {
  const shop = await telling(world.mock.session({ others: true }));
  assert.deepEqual(await shop.told(), [], "the one that is open is told by onChange");
  await shop.method("ideal").click();
  await shop.method("ideal").click();
  await shop.method("card").click();
  assert.deepEqual(await shop.told(), [["onMethodSelected", { method: "IDEAL" }], ["onMethodSelected", { method: null }], ["onMethodSelected", { method: "CARD" }]]);
  await shop.context.close();
});

test("the page hears of each attempt that failed, once, and of none that was made before it was opened", async () => {
  const session = world.mock.session({ tries: 3 });
  const shop = await telling(session);
  for (const left of [2, 1]) {
    await fill(shop, { number: DECLINED });
    await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button");
    await shop.button().click();
    await until(async () => (await shop.told()).length === 3 - left, "the page to hear of it");
    await shop.frame.locator(".notice p").waitFor();
  }
  assert.deepEqual(await shop.told(), [2, 1].map((attemptsLeft) => ["onAttemptFailed", { errorCode: "PAYMENT_DECLINED", attemptsLeft }]));
  await shop.page.evaluate(() => sessionStorage.clear());
  await shop.page.goto(`${world.mock.shopUrl}/`);
  await shop.tell();
  await shop.frame.locator(".notice p").waitFor();
  assert.deepEqual(await shop.told(), []);
  await shop.context.close();
});

test("the page hears that it is left, each time, while it is there; a challenge in the dialog leaves nothing", async () => {
  const session = world.mock.session({ others: true });
  const shop = await telling(session);
  await shop.method("paypal").click();
  await until(async () => (await shop.payBy("paypal").getAttribute("aria-disabled")) === null, "its button");
  await shop.payBy("paypal").click();
  await shop.page.waitForURL(world.mock.bankPage(session));
  await shop.page.goto(`${world.mock.shopUrl}/`);
  assert.deepEqual(await shop.told(), [["onMethodSelected", { method: "PAYPAL" }], ["onRedirect", { method: "PAYPAL" }]]);
  await shop.context.close();

  const other = await telling(world.mock.session());
  await fill(other, { number: CHALLENGED });
  await other.button().click();
  await other.bank.locator("#confirm").click();
  await endPanel(other, "done");
  assert.deepEqual(await other.told(), []);
  await other.context.close();
});
