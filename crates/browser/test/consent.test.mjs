import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { endPanel, fill, openShop, until, useWorld, world } from "./harness.mjs";

useWorld();

const root = new URL("..", import.meta.url);

/** The text of each language under the version that contracts name; a contract's consent is worth as much as this is true. */
const AGREED = { "2026-11": "05049101ca9b273f" };

const sent = (session) => JSON.parse(world.mock.calls("POST", `${session}/submit`)[0].body);

test("what a version of the consent says never changes", () => {
  const version = /TEXT_VERSION = "([^"]+)"/.exec(readFileSync(new URL("src/frame/consent.ts", root), "utf8"))[1];
  const names = readdirSync(new URL("locales", root)).sort();
  const texts = names.map((name) => `${name} ${JSON.parse(readFileSync(new URL(`locales/${name}`, root), "utf8")).agree}`);
  const hash = createHash("sha256").update(texts.join("\n")).digest("hex").slice(0, 16);
  assert.equal(AGREED[version], hash, "another text, or another language, is another version: src/frame/consent.ts, and a line here");
});

test("a payment that opens a contract: the shopper reads what is agreed, and it is sent", async () => {
  const session = world.mock.session({ OpensContract: "RECURRING" });
  const shop = await openShop({ session, options: { locale: "de_AT" } });
  const agreement = shop.frame.locator("#agreement");
  assert.match(await agreement.innerText(), /Fern & Fjord diese Karte speichern/);
  assert.equal(await shop.button().getAttribute("aria-describedby"), "agreement");
  assert.match(await shop.button().innerText(), /29,90/);
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(sent(session).Consent, { TextVersion: "2026-11", Locale: "de_AT" });
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a contract without a first payment: the card is saved, and no amount is named", async () => {
  const session = world.mock.session({ OpensContract: "RECURRING", amount: 0 });
  const shop = await openShop({ session });
  assert.equal(await shop.button().innerText(), "Save card");
  await fill(shop);
  await shop.button().click();
  assert.match(await (await endPanel(shop, "done")).innerText(), /Card saved[\s\S]*Nothing was charged/);
  assert.deepEqual(sent(session).Consent, { TextVersion: "2026-11", Locale: "en_US" });
  await shop.context.close();
});

test("a payment that opens no contract asks for no consent; one that came to open one shows it before it is paid", async () => {
  const session = world.mock.session();
  const shop = await openShop({ session });
  await fill(shop);
  assert.equal(await shop.frame.locator("#agreement").isVisible(), false);
  assert.equal(await shop.button().getAttribute("aria-describedby"), null);
  world.mock.entry(session).session.OpensContract = "RECURRING";
  world.mock.change(session, 29.9);
  await shop.button().click();
  await until(() => shop.frame.locator("#agreement").isVisible(), "the text");
  assert.equal(world.mock.entry(session).payments, 0);
  assert.equal("Consent" in sent(session), false);
  await shop.context.close();
});
