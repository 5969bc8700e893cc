// A second try: what a shopper can mend is told at the form, in one and the same Session; and every way out of a page elsewhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CARD, ENGINE, endPanel, fill, openShop, status, until, useWorld, world } from "./harness.mjs";

useWorld();

const DECLINED = "4000000000000002";
const DECLINE = "The payment was declined, and nothing was charged. Check your details, or use another card or payment method.";
const WAITING = "Your payment is waiting for you";

const ready = (shop) => until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button to be ready");

/** The shop after one declined card. */
async function declined(more = {}, options = {}) {
  const shop = await openShop({ session: world.mock.session({ others: true, ...more }), ...options });
  await fill(shop, { number: DECLINED });
  await shop.button().click();
  await shop.frame.locator(".notice").waitFor();
  return shop;
}

/** The shop while the outcome of a payment is being checked. */
async function checking() {
  const shop = await openShop({ session: world.mock.session({ slow: true }) });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.entry(shop.session).waiting.length === 1, "the payment to be followed");
  world.mock.finish(shop.session, { State: "PROCESSING", Checking: true });
  await status(shop, "Your payment is being checked").waitFor();
  return shop;
}

for (const [width, height] of [[1280, 900], [360, 740]]) {
  test(`declined, then paid in the same form, at ${width} px`, async () => {
    const shop = await declined({}, { viewport: { width, height } });
    assert.equal(await shop.frame.locator(".notice").innerText(), DECLINE);
    await until(async () => (await shop.frame.locator("#live").textContent()) === DECLINE, "it to be announced");
    const [hint, notice] = (await shop.field("code").getAttribute("aria-describedby")).split(" ");
    assert.match(await shop.frame.locator(`#${hint}`).innerText(), /3 digits/);
    assert.equal(await shop.frame.locator(`#${notice}`).innerText(), DECLINE, "it is read with the code, which has the focus");
    const typed = await Promise.all(["number", "expiry", "code", "name"].map((name) => shop.field(name).inputValue()));
    assert.deepEqual(typed, ["4000 0000 0000 0002", "12 / 30", "", CARD.name]);
    await until(() => shop.frameOf().evaluate(() => document.activeElement.id === "code"), "the code to have the focus");
    assert.equal(await shop.page.evaluate(() => document.querySelector("#pay").shadowRoot.activeElement?.localName), "iframe");
    assert.deepEqual(await shop.ends(), [], "neither callback");
    assert.equal(await shop.page.locator("#pay .toggle:visible").count(), 5, "the other methods are one click away");
    await shop.page.keyboard.type("1");
    await shop.field("number").fill(CARD.number);
    await shop.field("code").fill(CARD.code);
    await ready(shop);
    await shop.button().click();
    await endPanel(shop, "done");
    assert.deepEqual(await shop.ends(), [["success"]]);
    const orders = shop.orders();
    assert.equal(orders.length, 2);
    assert.notEqual(orders[0].AttemptId, orders[1].AttemptId, "each attempt has an id of its own");
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  });
}

test("every reason has its words in every language, and one that is not known has some", async () => {
  for (const [lang, locale] of [["en", "en_US"], ["de", "de_DE"], ["ar", "ar_EG"]]) {
    const shop = await openShop({ session: world.mock.session({ others: true, tries: 99 }), options: { locale } });
    const texts = new Set();
    await shop.method("paypal").click();
    for (const code of ["PAYMENT_DECLINED", "AUTHENTICATION_FAILED", "PAGE_CANCELLED", "PAGE_EXPIRED", "TRY_LATER", "SOMETHING_NEW"]) {
      await until(async () => (await shop.payBy("paypal").getAttribute("aria-disabled")) === null, "the button to be ready");
      world.mock.byMethod = () => ({ failed: code });
      const before = shop.orders().length;
      await shop.payBy("paypal").click();
      await until(async () => shop.orders().length > before && (await shop.payBy("paypal").getAttribute("aria-busy")) === null, `${code} to come back`);
      delete world.mock.byMethod;
      texts.add(await shop.panel("paypal").locator(".notice").innerText());
    }
    assert.equal(texts.size, 6, `${lang}: ${[...texts].join("\n")}`);
    for (const text of texts) assert.doesNotMatch(text, /again\.|_/, lang);
    await shop.context.close();
  }
});

test("the last try is announced as such, and ends the Session with a sentence for the shopper", async () => {
  const shop = await declined({ tries: 2 });
  assert.equal(await shop.frame.locator(".notice").innerText(), `${DECLINE} You have one try left.`);
  await shop.field("code").fill("123");
  await ready(shop);
  await shop.button().click();
  await endPanel(shop, "fail");
  assert.deepEqual(await shop.ends(), [[
    "failure", "PAYMENT_DECLINED",
    "The payment was declined, and nothing was charged. Go back to the shop to try another card or to pay in another way.",
  ]]);
  await shop.context.close();
});

test("the amount is read anew between two attempts", async () => {
  const shop = await openShop({ session: world.mock.session() });
  await fill(shop, { number: DECLINED });
  // The merchant replaces the Session while the card is being declined.
  world.mock.entry(shop.session).slow = true;
  await shop.button().click();
  await until(() => world.mock.entry(shop.session).payments === 1, "the payment");
  world.mock.entry(shop.session).slow = false;
  world.mock.change(shop.session, 31);
  world.mock.finish(shop.session, { failed: "PAYMENT_DECLINED" });
  const notice = shop.frame.locator(".notice");
  await notice.waitFor();
  assert.equal(await notice.innerText(), `${DECLINE} The total changed from $29.90 to $31.00. Please check it and press the button again.`);
  assert.equal(await shop.button().innerText(), "Pay $31.00");
  await shop.field("number").fill(CARD.number);
  await shop.field("code").fill(CARD.code);
  await ready(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(shop.session).paidAmount, 31);
  await shop.context.close();
});

test("a lost answer to a declined attempt is asked for under its id, and is one attempt", async () => {
  for (const fault of ["done-reset", "reset"]) {
    const shop = await openShop({ session: world.mock.session({ faults: { submit: [fault] } }) });
    await fill(shop, { number: DECLINED });
    await shop.button().click();
    await shop.frame.locator(".notice").waitFor();
    assert.equal(new Set(shop.orders().map(({ AttemptId }) => AttemptId)).size, 1);
    assert.equal(world.mock.entry(shop.session).payments, 1, fault);
    assert.equal(world.mock.entry(shop.session).tries, 4);
    await shop.context.close();
  }
});

test("while the outcome is being checked the shopper hears so at once, and nothing can be pressed", async () => {
  const shop = await checking();
  assert.equal(await shop.page.locator("#pay .toggle:visible").count(), 0);
  world.mock.finish(shop.session, { failed: "TRY_LATER" });
  await shop.frame.getByText("The payment provider could not be reached").first().waitFor();
  assert.deepEqual(await shop.ends(), []);
  await until(() => shop.frameOf().evaluate(() => document.activeElement.id === "code"), "the code to have the focus");
  await shop.context.close();
});

test("the reason is announced when the form is in sight again, since nobody hears what a hidden frame says", async () => {
  const shop = await checking();
  await shop.page.evaluate(() => {
    const root = document.querySelector("#pay").shadowRoot.querySelector(".root");
    new MutationObserver(() => root.classList.contains("waiting") || (window.shownAt ??= Date.now())).observe(root, { attributes: true });
  });
  await shop.frameOf().evaluate(() => {
    const live = document.querySelector("#live");
    window.announced = [];
    new MutationObserver(() => window.announced.push([live.textContent, Date.now()])).observe(live, { childList: true });
  });
  world.mock.finish(shop.session, { failed: "PAYMENT_DECLINED" });
  const announced = () => shop.frameOf().evaluate(() => window.announced);
  await until(async () => (await announced()).length > 0, "the reason to be announced");
  const [[text, at], ...others] = await announced();
  assert.deepEqual([text, others], [DECLINE, []]);
  const shownAt = await shop.page.evaluate(() => window.shownAt);
  assert.ok(at - shownAt >= 10, `announced ${at - shownAt} ms after the form came in sight`);
  await shop.context.close();
});

test("a shopper who comes back from a cancelled page reads why at the form, and pays with something else", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true }) });
  await shop.payWith("ideal");
  await shop.page.locator("#cancel").click();
  await shop.page.waitForURL(/back=CREATED/);
  await shop.go();
  const words = "The payment was cancelled, and nothing was charged. Try again, or choose another payment method.";
  await shop.frame.getByText(words).first().waitFor();
  await until(async () => (await shop.frame.locator("#live").textContent()) === words, "it to be announced");
  assert.deepEqual(await shop.ends(), []);
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

for (const how of ["back", "reload"]) {
  test(`pay another way after a page elsewhere, by ${how}`, async () => {
    const shop = await openShop({ session: world.mock.session({ others: true }) });
    await shop.payWith("paypal");
    await shop.page.waitForURL(world.mock.bankPage(shop.session));
    await shop.page.goBack();
    if (how === "reload" || !(await shop.page.evaluate(() => "heard" in window))) await shop.go();
    await status(shop, WAITING).waitFor();
    const asked = () => world.mock.calls("POST", `${shop.session}/pay-another-way`);
    assert.equal(asked().length, 0, "only the shopper gives the page up");
    await shop.another.click();
    await until(async () => (await shop.page.locator("#pay .toggle:visible").count()) === 5, "the methods");
    assert.equal(asked().length, 1);
    await until(async () => /was cancelled, and nothing was charged/.test(await shop.said()), "the reason to be announced");
    assert.deepEqual(await shop.ends(), []);
    await shop.payWith("banktransfer");
    await endPanel(shop, "done");
    assert.deepEqual(await shop.ends(), [["success"]]);
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  });
}

test("pay another way: what was paid meanwhile counts, a lost answer is asked for again, a refusal follows the Session", async () => {
  for (const [faults, paidMeanwhile, shown] of [
    [{}, { State: "COMPLETED" }, (shop) => endPanel(shop, "done")],
    [{ "pay-another-way": ["done-reset", "reset", 503] }, undefined, (shop) => shop.field("number").waitFor()],
    [{ "pay-another-way": [409] }, undefined, (shop) => status(shop, WAITING).waitFor()],
  ]) {
    const session = world.mock.session({ others: true, faults });
    world.mock.entry(session).paidMeanwhile = paidMeanwhile;
    world.mock.entry(session).attempt = "00000000-0000-4000-8000-000000000001";
    world.mock.finish(session, { State: "REDIRECTED", RedirectUrl: world.mock.bankPage(session) });
    const shop = await openShop({ session, wait: false });
    await shop.another.click();
    await until(() => (faults["pay-another-way"]?.length ?? 0) === 0, "every fault to be met");
    await shown(shop);
    assert.deepEqual(await shop.ends(), paidMeanwhile ? [["success"]] : []);
    await shop.context.close();
  }
});

test("pay another way in a browser that knows nothing of the attempt, and while its page is being closed", async () => {
  const first = await openShop({ session: world.mock.session({ others: true }) });
  await first.method("paypal").click();
  await first.payBy("paypal").click();
  await first.page.waitForURL(world.mock.bankPage(first.session));
  const shop = await openShop({ session: first.session, wait: false });
  await until(() => world.mock.entry(shop.session).waiting.length > 0, "the payment to be watched");
  const { result } = world.mock.entry(shop.session);
  world.mock.entry(shop.session).paidMeanwhile = { ...result, Checking: true };
  await shop.another.click();
  await status(shop, "Your payment is being checked").waitFor();
  assert.equal(await shop.another.count(), 0, "nothing can be pressed meanwhile");
  world.mock.finish(shop.session, { failed: "PAGE_CANCELLED" });
  await shop.field("number").waitFor();
  assert.deepEqual(await shop.ends(), []);
  await Promise.all([first, shop].map(({ context }) => context.close()));
});

test("pay another way out of the bank's dialog; number, expiry and name are still there", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true }) });
  await fill(shop, { number: "4000000000003220" });
  await shop.button().click();
  await shop.bank.locator("#confirm").waitFor();
  await shop.dialog.getByRole("button", { name: "Close" }).click();
  await shop.another.click();
  await shop.field("number").waitFor();
  assert.equal(await shop.field("number").inputValue(), "4000 0000 0000 3220");
  assert.equal(await shop.field("code").inputValue(), "");
  await shop.payWith("paypal");
  await shop.page.waitForURL(world.mock.bankPage(shop.session));
  await shop.context.close();
});

test("a Session that expires in sight of the shopper is over then, not at the button", async () => {
  const shop = await openShop({ session: world.mock.session({ expiresIn: ENGINE === "chromium" ? 3_000 : 12_000 }) });
  await fill(shop);
  assert.deepEqual(await shop.ends(), []);
  const panel = await endPanel(shop, "fail");
  assert.match(await panel.innerText(), /The time to pay this order is over/);
  assert.deepEqual((await shop.ends()).map((end) => end.slice(0, 2)), [["failure", "SESSION_EXPIRED"]]);
  assert.equal(shop.orders().length, 0);
  await shop.context.close();
});
