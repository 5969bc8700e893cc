import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { endPanel, fill, openShop, until, useWorld, world } from "./harness.mjs";

useWorld();

const root = new URL("..", import.meta.url);

/** What each version says in each language, as a digest; a contract's consent is worth as much as this is true. */
const AGREED = JSON.parse(readFileSync(new URL("agreed.json", import.meta.url), "utf8"));

const sent = (session) => JSON.parse(world.mock.calls("POST", `${session}/submit`)[0].body);

test("what a version of a consent says in a language never changes", () => {
  const source = readFileSync(new URL("src/payment/agreement.ts", root), "utf8");
  const versions = [...source.matchAll(/^ {2}"?([\w.]+)"?: "(2[^"]+)",$/gm)].map(([, key, version]) => [key, version]);
  const { tags } = JSON.parse(readFileSync(new URL("languages.json", root), "utf8"));
  const said = Object.fromEntries(versions.map(([key, version]) => [version, Object.fromEntries(tags.map((tag) => {
    const strings = JSON.parse(readFileSync(new URL(`locales/${tag}.json`, root), "utf8"));
    // What is ticked is read with its label.
    const text = `${key === "agree" ? "" : `${strings.saveCard} `}${strings[key]}`;
    return [tag, createHash("sha256").update(text).digest("hex").slice(0, 16)];
  }))]));
  for (const [version, languages] of Object.entries(said)) {
    for (const [tag, digest] of Object.entries(languages)) {
      assert.equal(digest, AGREED[version]?.[tag], `${version} in ${tag}: another text is another version: src/payment/agreement.ts, and ${digest} in test/agreed.json. A language that is new keeps the version`);
    }
  }
  assert.deepEqual(Object.keys(AGREED), Object.keys(said), "every version stays on record");
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

const KINDS = {
  ONE_CLICK: { locale: "de_AT", version: "2026-11-one-click", text: /Fern & Fjord.*nur belastet, wenn Sie eine Zahlung bestätigen/ },
  UNSCHEDULED: { locale: "ar_EG", version: "2026-11-unscheduled", text: /Fern & Fjord.*بالخصم منها لاحقًا/ },
};

for (const [kind, { locale, version, text }] of Object.entries(KINDS)) {
  test(`a card may be saved, ${kind}: the box is empty, is read with what it means, and only a ticked one is consent`, async () => {
    for (const ticked of [false, true]) {
      const session = world.mock.session({ AllowsContract: kind });
      const shop = await openShop({ session, options: { locale } });
      const box = shop.frame.getByRole("checkbox");
      assert.equal(await box.isChecked(), false, "never ticked beforehand");
      const described = await box.evaluate((element) => document.getElementById(element.getAttribute("aria-describedby")).innerText);
      assert.match(described, text);
      assert.equal(await shop.button().getAttribute("aria-describedby"), null, "the button agrees to nothing");
      await fill(shop);
      // By keyboard: it comes after the name and before the button.
      await shop.field("name").press("Tab");
      if (ticked) await shop.page.keyboard.press("Space");
      assert.equal(await box.isChecked(), ticked);
      await shop.page.keyboard.press("Tab");
      await shop.page.keyboard.press("Enter");
      await endPanel(shop, "done");
      assert.deepEqual(sent(session).Consent, ticked ? { TextVersion: version, Locale: locale } : undefined);
      assert.deepEqual(shop.problems, []);
      await shop.context.close();
    }
  });
}

test("the ticked box stays ticked when a card is declined, and cannot be changed while it is paid with", async () => {
  const session = world.mock.session({ AllowsContract: "ONE_CLICK", slow: true });
  const shop = await openShop({ session });
  const box = shop.frame.getByRole("checkbox");
  await box.check();
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.entry(session).payments === 1, "the payment");
  await shop.frameOf().evaluate(() => document.getElementById("save").click());
  world.mock.finish(session, { failed: "PAYMENT_DECLINED" });
  await shop.frame.locator("#notice p").waitFor();
  assert.equal(await box.isChecked(), true);
  assert.equal(await shop.field("code").inputValue(), "");
  await shop.context.close();
});

test("a text that comes in place of another one has not been agreed to", async () => {
  const session = world.mock.session({ AllowsContract: "ONE_CLICK" });
  const shop = await openShop({ session });
  const box = shop.frame.getByRole("checkbox");
  await box.check();
  await fill(shop);
  world.mock.entry(session).session.AllowsContract = "UNSCHEDULED";
  world.mock.change(session, 31);
  await shop.button().click();
  await shop.frame.locator("#notice p").waitFor();
  assert.match(await shop.frame.locator("#agreement").innerText(), /charge it later/);
  assert.equal(await box.isChecked(), false);
  await shop.context.close();
});

test("where the shopper is not asked, or in words that this drop-in does not have, there is no box", async () => {
  for (const more of [{}, { OpensContract: "RECURRING" }, { AllowsContract: "SOMETHING_NEW" }]) {
    const shop = await openShop({ session: world.mock.session(more) });
    assert.equal(await shop.field("save").isVisible(), false, JSON.stringify(more));
    await shop.context.close();
  }
});

test("another method than a card is never saved", async () => {
  const session = world.mock.session({ AllowsContract: "ONE_CLICK", others: true });
  const shop = await openShop({ session });
  await shop.frame.getByRole("checkbox").check();
  await shop.payWith("banktransfer");
  await endPanel(shop, "done");
  assert.equal("Consent" in sent(session), false);
  await shop.context.close();
});
