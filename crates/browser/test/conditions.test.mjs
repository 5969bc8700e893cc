// Where shoppers are: networks that are slow or go away for a while, and pages that slept.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endPanel, fill, openShop, status, until, useWorld, world } from "./harness.mjs";

useWorld();

const HOUR_MS = 3_600_000;

test("a press without a network charges nothing and says so; with one again it pays, once", async () => {
  const shop = await openShop({ session: world.mock.session() });
  await fill(shop);
  await shop.context.setOffline(true);
  await shop.button().click();
  await shop.frame.locator(".notice p").waitFor();
  assert.match(await shop.frame.locator(".notice").innerText(), /could not be reached, and nothing was charged/);
  assert.equal(world.mock.entry(shop.session).payments, 0);
  await shop.context.setOffline(false);
  await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button");
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(shop.session).payments, 1);
  await shop.context.close();
});

test("a payment whose network goes away is followed to its end when it is back", async () => {
  const shop = await openShop({ session: world.mock.session({ slow: true }) });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.entry(shop.session).waiting.length === 1, "the payment to be followed");
  await shop.context.setOffline(true);
  world.mock.finish(shop.session);
  await new Promise((resolve) => setTimeout(resolve, 700));
  await shop.context.setOffline(false);
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("where each answer takes a third of a second, a shopper who is quick pays once", async () => {
  const context = await world.browser.newContext();
  await context.route("**/asset/**", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 333));
    await route.continue();
  });
  const shop = await openShop({ session: world.mock.session(), context, wait: "form" });
  await fill(shop);
  await shop.button().click();
  await shop.button().click({ force: true }).catch(() => {});
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.equal(world.mock.entry(shop.session).payments, 1);
  await context.close();
});

test("where the browser's Intl refuses the language, the page is told at once that there is no form", async () => {
  const context = await world.browser.newContext();
  await context.addInitScript(() => {
    Intl.NumberFormat = class {
      constructor() {
        throw new RangeError("Incorrect locale information provided");
      }
    };
  });
  const shop = await openShop({ session: world.mock.session(), context, wait: false });
  await endPanel(shop, "fail");
  assert.deepEqual((await shop.ends()).map((end) => end.slice(0, 2)), [["failure", "FRAME_UNAVAILABLE"]]);
  await context.close();
});

test("a tab that slept for an hour tells that the Session has expired as soon as it is looked at", async () => {
  const context = await world.browser.newContext();
  await context.clock.install();
  const shop = await openShop({ session: world.mock.session({ expiresIn: HOUR_MS / 2 }), context });
  await fill(shop);
  world.mock.entry(shop.session).expiresAt = Date.now() - 1;
  // Its timers have not run; only the clock has gone on.
  await context.clock.setSystemTime(Date.now() + HOUR_MS);
  assert.deepEqual(await shop.ends(), []);
  await shop.frameOf().evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await endPanel(shop, "fail");
  assert.deepEqual((await shop.ends()).map((end) => end.slice(0, 2)), [["failure", "SESSION_EXPIRED"]]);
  await context.close();
});

test("a tab that slept while a payment was under way shows its end, and charges nothing more", async () => {
  const context = await world.browser.newContext();
  await context.clock.install();
  const shop = await openShop({ session: world.mock.session({ slow: true }), context });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.entry(shop.session).waiting.length === 1, "the payment to be followed");
  await context.clock.fastForward(HOUR_MS);
  await status(shop, "Your payment is being checked").waitFor();
  world.mock.finish(shop.session);
  await context.clock.fastForward(10_000);
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(shop.session).payments, 1);
  await context.close();
});
