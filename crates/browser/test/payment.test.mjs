import assert from "node:assert/strict";
import { test } from "node:test";
import { CARD, endPanel, fill, openShop, until, useWorld, world } from "./harness.mjs";

useWorld();

test("a card is paid: one stash, one submit, onSuccess once, a final panel", async () => {
  const session = world.mock.session();
  const shop = await openShop({ session });
  assert.equal(await shop.button().innerText(), "Pay $29.90");
  await fill(shop);
  assert.equal(await shop.field("number").inputValue(), "4242 4242 4242 4242");
  assert.equal(await shop.field("expiry").inputValue(), "12 / 30");
  await shop.button().click();
  const panel = await endPanel(shop, "done");
  assert.match(await panel.innerText(), /Payment submitted[\s\S]*Fern & Fjord/);
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.deepEqual((await shop.heard()).filter(([kind]) => kind === "enabled"), [["enabled", true], ["enabled", false]]);
  assert.equal(world.mock.entry(session).payments, 1);
  assert.equal(await shop.page.locator("#pay iframe").count(), 0, "the frame goes, and what was typed with it");
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});
