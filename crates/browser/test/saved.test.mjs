// Saved cards: listed first, paid with by their code alone, declined, removed; and the drop-in of before where there are none.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endPanel, fill, lacks, openShop, status, until, useWorld, world } from "./harness.mjs";
import { savedCard } from "./mock-server.mjs";

useWorld();

const AMEX = { PaymentMethod: "AMEX", Scheme: "AMEX", Expiry: "2028-03" };
const three = () => [savedCard("4242"), savedCard("0005", AMEX), savedCard("4444", { PaymentMethod: "MC", Scheme: "MC" })];

/** A drop-in with saved cards, and what of it the tests look at. */
async function openSaved({ cards = three(), session = {}, ...more } = {}) {
  const id = world.mock.session({ SavedCards: cards, ...session });
  const shop = await openShop({ session: id, wait: false, ...more });
  await shop.frame.locator(".accordion .toggle").first().waitFor();
  shop.headings = () => shop.frame.locator(".accordion .toggle");
  shop.names = () => shop.headings().locator("> span").evaluateAll((all) => all.map((one) => (one.querySelector("[aria-hidden]") ?? one).innerText));
  shop.openOnes = () => shop.headings().evaluateAll((all) => all.map((one) => one.getAttribute("aria-expanded") === "true"));
  /** The entry at a place in the list. */
  shop.entry = (index) => shop.frame.locator(".accordion .entry").nth(index);
  shop.code = (index) => shop.entry(index).locator("input[name=code]");
  shop.pay = (index) => shop.entry(index).locator(".pay");
  shop.focused = () => shop.frameOf().evaluate(() => (document.activeElement?.querySelector(".unseen") ?? document.activeElement)?.innerText.trim());
  shop.live = () => shop.frame.locator("#live").textContent();
  shop.ready = (index) => until(async () => (await shop.pay(index).getAttribute("aria-disabled")) === null, "the button to be ready");
  return shop;
}

/** What tells of a saved card; its four digits alone may stand in any id. */
const WORDS = ["SavedCards", "Last4", '"4242"', "• 4242", "in 4242", "2031-12", "12/31", '"123"'];

const stashes = () => world.mock.requests.filter(({ path }) => path.startsWith("/stash/"));
const removals = (session) => world.mock.requests.filter(({ method, path }) => method === "DELETE" && path.includes(session));

test("saved cards come first, the newest is open, and a new card is one press away", async () => {
  const shop = await openSaved({ session: { others: true, Sandbox: true } });
  assert.deepEqual(await shop.names(), ["Visa •••• 4242, 12/31", "American Express •••• 0005, 03/28", "Mastercard •••• 4444, 12/31", "Another card"]);
  assert.deepEqual(await shop.openOnes(), [true, false, false, false]);
  for (const spoken of ["Visa ending in 4242, valid until 12/31", "American Express ending in 0005, valid until 03/28", "Another card"]) {
    assert.equal(await shop.frame.getByRole("button", { name: spoken, exact: true }).count(), 1, spoken);
  }
  assert.equal(await shop.entry(0).locator(".toggle svg.mark").count(), 1, "the mark of the scheme");
  assert.deepEqual(await shop.entry(0).locator(".toggle bdi").evaluateAll((all) => all.map((one) => `${one.dir} ${one.innerText}`)), [" Visa", "ltr •••• 4242", "ltr 12/31"]);
  assert.equal(await shop.entry(0).locator(".test").innerText(), "Test mode");
  assert.equal(await shop.entry(0).locator(".hint").innerText(), "3 digits on the back");
  assert.equal(await shop.page.locator("#pay #card").isVisible(), false, "the frame has headings of its own");
  assert.equal(await shop.headings().first().locator("xpath=..").getAttribute("aria-level"), "3", "below the page's own");
  await shop.headings().nth(3).click();
  assert.deepEqual(await shop.openOnes(), [false, false, false, true]);
  await fill(shop);
  await shop.pay(3).click();
  await endPanel(shop, "done");
  const [order] = shop.orders();
  assert.equal("ContractId" in order, false);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a saved card is paid with by its code alone, which stays nowhere, and the page learns nothing of the card", async () => {
  const cards = three();
  const before = stashes().length;
  const shop = await openSaved({ cards, session: { AllowsContract: "ONE_CLICK" } });
  await shop.code(0).pressSequentially("12345");
  assert.equal(await shop.code(0).inputValue(), "123");
  await shop.pay(0).click();
  await endPanel(shop, "done");
  const [order] = shop.orders();
  assert.deepEqual(Object.keys(order).sort(), ["AttemptId", "ContractId", "DeviceFingerprint", "StashId", "Version"]);
  assert.deepEqual([order.ContractId, order.StashId], [cards[0].ContractId, order.AttemptId]);
  const sent = stashes().slice(before);
  assert.equal(sent.length, 1);
  assert.equal(new URLSearchParams(sent[0].body).get("card"), '{"VerificationCode":"123"}');
  assert.ok(sent[0].path.endsWith(`/${order.StashId}`));
  const told = await shop.page.evaluate(() => JSON.stringify([window.heard, window.events, Object.values(localStorage), Object.values(sessionStorage), document.documentElement.outerHTML]));
  const port = JSON.stringify(await shop.frameOf()?.evaluate(() => window.portMessages) ?? []);
  for (const text of [told, port]) for (const word of WORDS.concat(cards[0].ContractId)) assert.ok(!text.includes(word), `${word} is told`);
  await shop.context.close();
});

test("what crosses to the page names no saved card, and the page hears of a card like any other", async () => {
  const cards = three();
  const shop = await openSaved({ cards });
  await shop.code(0).fill("123");
  await shop.headings().nth(1).click();
  await shop.headings().nth(1).click();
  await until(async () => JSON.stringify((await shop.events()).at(-1)) === '["change",{"method":null,"complete":false}]', "the page to hear that all is closed");
  await shop.headings().nth(0).click();
  const changes = [[null, false], ["CARD", false], ["CARD", true]].map(([method, complete]) => JSON.stringify(["change", { method, complete }]));
  await until(async () => JSON.stringify((await shop.events()).at(-1)) === changes[2], "the code to be there still");
  for (const event of (await shop.events()).slice(1)) assert.ok(changes.includes(JSON.stringify(event)), JSON.stringify(event));
  const crossed = (await shop.frameOf().evaluate(() => window.portMessages)).join();
  assert.match(crossed, /"listed":true/);
  for (const word of WORDS.concat(cards[0].ContractId)) assert.ok(!crossed.includes(word), `${word} in ${crossed.slice(Math.max(0, crossed.indexOf(word) - 80), crossed.indexOf(word) + 80)}`);
  await shop.context.close();
});

test("a code has as many digits as its scheme's, and errors are said as for a new card", async () => {
  const shop = await openSaved();
  await shop.pay(0).click();
  assert.equal(await shop.entry(0).locator(".error").first().innerText(), "Enter the security code.");
  assert.equal(await shop.live(), "Enter the security code.");
  assert.equal(await shop.code(0).evaluate((input) => input === document.activeElement && input.getAttribute("aria-invalid")), "true");
  await shop.headings().nth(1).click();
  assert.equal(await shop.entry(1).locator(".hint").innerText(), "4 digits on the front");
  await shop.code(1).fill("123");
  await shop.pay(1).click();
  assert.equal(await shop.entry(1).locator(".error").first().innerText(), "Enter all 4 digits.");
  await shop.code(1).fill("1234");
  await shop.pay(1).click();
  await endPanel(shop, "done");
  assert.equal(shop.orders().length, 1);
  await shop.context.close();
});

test("the service refuses the code: its field says so", async () => {
  const shop = await openSaved({ session: { faults: { warnings: [["CardNumberInvalid", "CardMonthInvalid", "CardVerificationCodeInvalid"]] } } });
  await shop.code(0).fill("123");
  await shop.pay(0).click();
  await until(async () => (await shop.entry(0).locator(".error").first().innerText()) === "Check the security code.", "the error");
  assert.deepEqual(shop.orders(), []);
  await shop.code(0).fill("321");
  await shop.pay(0).click();
  await endPanel(shop, "done");
  await shop.context.close();
});

test("a decline is shown in the card's entry, the code is typed anew, and each try has a stash of its own", async () => {
  const shop = await openSaved({ session: { faults: { saved: [{ failed: "PAYMENT_DECLINED" }] } } });
  await shop.headings().nth(3).click();
  await shop.field("number").fill("4242424242424242");
  await shop.headings().nth(0).click();
  await shop.code(0).fill("123");
  await shop.pay(0).click();
  await shop.entry(0).locator(".notice p").waitFor();
  assert.match(await shop.entry(0).locator(".notice").innerText(), /declined, and nothing was charged/);
  await until(() => shop.code(0).evaluate((input) => input === document.activeElement), "the focus in the code");
  assert.equal(await shop.code(0).inputValue(), "");
  assert.match(await shop.code(0).getAttribute("aria-describedby"), /notice/);
  assert.equal(await shop.field("number").inputValue(), "4242 4242 4242 4242", "what was typed elsewhere is kept");
  assert.equal(await shop.entry(3).locator(".notice p").count(), 0);
  await shop.ready(0);
  await shop.code(0).fill("321");
  await shop.pay(0).click();
  await endPanel(shop, "done");
  const orders = shop.orders();
  assert.equal(new Set(orders.map(({ StashId }) => StashId)).size, 2);
  await shop.context.close();
});

test("a card that its bank declined for good is gone, and a new one is asked for", async () => {
  const shop = await openSaved({ session: { faults: { saved: [{ failed: "PAYMENT_DECLINED" }] } } });
  const { session } = world.mock.entry(shop.session);
  world.mock.entry(shop.session).lost = [session.SavedCards[0].ContractId];
  await shop.code(0).fill("123");
  await shop.pay(0).click();
  await until(async () => (await shop.names()).length === 3, "the card to go");
  assert.deepEqual(await shop.openOnes(), [false, false, true]);
  assert.match(await shop.entry(2).locator(".notice").innerText(), /declined/);
  await until(async () => (await shop.focused()) === "Another card", "the focus on what to do next");
  await fill(shop);
  await shop.ready(2);
  await shop.pay(2).click();
  await endPanel(shop, "done");
  await shop.context.close();
});

test("a card that was removed elsewhere meanwhile is not paid with, and the shopper hears why", async () => {
  const shop = await openSaved();
  const { session } = world.mock.entry(shop.session);
  world.mock.entry(shop.session).dead = [session.SavedCards[0].ContractId];
  await shop.code(0).fill("123");
  await shop.pay(0).click();
  await until(async () => (await shop.names()).length === 3, "the card to go");
  assert.match(await shop.entry(2).locator(".notice").innerText(), /saved card can no longer be used, and nothing was charged/);
  assert.equal(world.mock.entry(shop.session).payments, 0);
  await shop.context.close();
});

test("a saved card is removed by keyboard: asked in place, kept by Escape, and the focus goes on", lacks("scriptedFocus"), async () => {
  const cards = three();
  const shop = await openSaved({ cards });
  const press = (key) => shop.page.keyboard.press(key);
  await shop.pay(0).focus();
  await press("Tab");
  assert.equal(await shop.frame.locator(":focus").innerText(), "Remove card");
  await press("Enter");
  const question = shop.entry(0).getByRole("group", { name: "Remove this card?" });
  assert.match(await question.innerText(), /no longer be offered for your payments to Fern & Fjord/);
  assert.equal(await shop.frame.locator(":focus").innerText(), "Keep card", "the answer that changes nothing");
  await press("Escape");
  assert.equal(await question.isVisible(), false);
  assert.equal(await shop.frame.locator(":focus").innerText(), "Remove card");
  assert.deepEqual(removals(shop.session), []);
  await press("Enter");
  await press("Tab");
  const yes = shop.frame.locator(":focus");
  assert.equal(await yes.innerText(), "Remove");
  const named = await yes.evaluate((element) => element.getAttribute("aria-labelledby").split(" ").map((id) => document.getElementById(id)).map((one) => (one.querySelector(".unseen") ?? one).innerText));
  assert.deepEqual(named, ["Remove", "Visa ending in 4242, valid until 12/31"]);
  await press("Enter");
  await until(async () => (await shop.names()).length === 3, "the card to go");
  assert.deepEqual(removals(shop.session).map(({ path }) => path), [`/asset/v1/session/${shop.session}/contract/${cards[0].ContractId}`]);
  assert.equal(await shop.focused(), "American Express ending in 0005, valid until 03/28");
  assert.deepEqual(await shop.openOnes(), [true, false, false]);
  assert.equal(await shop.live(), "The card was removed.");
  await shop.code(0).fill("1234");
  await shop.pay(0).click();
  await endPanel(shop, "done");
  assert.equal(shop.orders()[0].ContractId, cards[1].ContractId);
  await shop.context.close();
});

test("the last saved card removed: a new card is what is left", async () => {
  const shop = await openSaved({ cards: [savedCard("4242")], session: { Sandbox: true } });
  await shop.entry(0).locator(".begin").click();
  await shop.entry(0).locator(".yes").click();
  await until(async () => (await shop.names()).length === 1, "the card to go");
  assert.deepEqual([await shop.names(), await shop.openOnes()], [["Card"], [true]]);
  assert.equal(await shop.focused(), "Card");
  assert.equal(await shop.entry(0).locator(".test").isVisible(), true);
  await fill(shop);
  await shop.pay(0).click();
  await endPanel(shop, "done");
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a removal that was answered by nobody is repeated; one that finds no card any more has done its work", async () => {
  const shop = await openSaved({ session: { faults: { remove: ["done-reset"] } } });
  await shop.entry(0).locator(".begin").click();
  await shop.entry(0).locator(".yes").click();
  await until(async () => (await shop.names()).length === 3, "the card to go");
  assert.equal(removals(shop.session).length, 2, "the second was answered by 404");
  await shop.context.close();
});

test("a removal that fails is said, and can be tried again", async () => {
  const shop = await openSaved({ session: { faults: { remove: [503, 503, 503, 503] } } });
  await shop.entry(0).locator(".begin").click();
  await shop.entry(0).locator(".yes").click();
  await until(async () => (await shop.pay(0).getAttribute("aria-disabled")) === "true", "nothing else to be done meanwhile");
  const error = shop.entry(0).locator(".question .error");
  await error.waitFor();
  assert.match(await error.innerText(), /could not be removed/);
  assert.match(await shop.live(), /could not be removed/);
  assert.equal((await shop.names()).length, 4);
  assert.equal(await shop.frame.locator(":focus").innerText(), "Remove");
  await shop.entry(0).locator(".yes").click();
  await until(async () => (await shop.names()).length === 3, "the card to go");
  await shop.context.close();
});

test("a removal while the Session is paid elsewhere: the drop-in follows the payment", async () => {
  const shop = await openSaved();
  world.mock.entry(shop.session).session.State = "PROCESSING";
  await shop.entry(0).locator(".begin").click();
  await shop.entry(0).locator(".yes").click();
  await status(shop, "Your payment is being processed").waitFor();
  assert.equal(world.mock.entry(shop.session).session.SavedCards.length, 3);
  world.mock.finish(shop.session);
  await endPanel(shop, "done");
  await shop.context.close();
});

test("the card of a contract that the merchant brings the shopper back to cannot be removed; a new one agrees to what that one agreed to", async () => {
  const shop = await openSaved({ cards: [savedCard("4242", { Removable: false })], session: { OpensContract: "UNSCHEDULED" } });
  assert.equal(await shop.entry(0).locator(".begin").count(), 0);
  assert.equal(await shop.pay(0).getAttribute("aria-describedby"), null);
  await shop.headings().nth(1).click();
  assert.equal(await shop.pay(1).getAttribute("aria-describedby"), "agreement");
  await shop.headings().nth(0).click();
  await shop.code(0).fill("123");
  await shop.pay(0).click();
  await endPanel(shop, "done");
  assert.equal("Consent" in shop.orders()[0], false);
  await shop.context.close();
});

test("another method and the saved cards close each other, and the page's own choice stands", async () => {
  const shop = await openSaved({ session: { others: true } });
  await shop.method("paypal").click();
  await until(async () => !(await shop.openOnes()).includes(true), "the cards to close");
  await shop.headings().nth(1).click();
  await until(async () => (await shop.openOnes())[1], "the card to open");
  assert.equal(await shop.method("paypal").getAttribute("aria-expanded"), "false");
  await shop.page.evaluate(() => window.instance.unselectPaymentMethod());
  await until(async () => !(await shop.openOnes()).includes(true), "the cards to close");
  await shop.method("paypal").click();
  // The page draws itself anew.
  await shop.init();
  await shop.frame.locator(".accordion .toggle").first().waitFor();
  await until(async () => (await shop.method("paypal").getAttribute("aria-expanded")) === "true", "the method to be open again");
  assert.ok(!(await shop.openOnes()).includes(true), "no card is chosen beside it");
  await shop.context.close();
});

test("the page's own button pays by the saved card that is open, and its amount is in sight", async () => {
  const shop = await openSaved({ options: { hideSubmitButton: true } });
  assert.equal(await shop.pay(0).isVisible(), false);
  assert.equal(await shop.entry(0).locator(".total").innerText(), "Total: $29.90");
  assert.deepEqual(await shop.enabled(), []);
  await shop.code(0).fill("123");
  await until(async () => (await shop.enabled()).at(-1) === true, "the page to hear that it can be paid");
  await shop.page.evaluate(() => window.instance.submitPayment());
  await endPanel(shop, "done");
  await shop.context.close();
});

test("the bank may ask for a saved card too, in the same dialog", async () => {
  const shop = await openSaved();
  const entry = world.mock.entry(shop.session);
  entry.faults.saved = [{ State: "REDIRECTED", RedirectUrl: world.mock.bankPage(shop.session), Challenge: true }];
  await shop.code(0).fill("123");
  await shop.pay(0).click();
  await shop.bank.locator("#confirm").click();
  await endPanel(shop, "done");
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a payment by another card that failed leaves the list as it was", async () => {
  const shop = await openSaved({ session: { others: true } });
  world.mock.change(shop.session, 31);
  await shop.code(0).fill("123");
  await shop.pay(0).click();
  await shop.entry(0).locator(".notice p").waitFor();
  assert.match(await shop.entry(0).locator(".notice").innerText(), /changed from \$29.90 to \$31.00/);
  assert.equal(await shop.code(0).inputValue(), "123", "nothing was sent to a bank");
  assert.match(await shop.pay(0).innerText(), /31.00/);
  await shop.ready(0);
  await shop.pay(0).click();
  await endPanel(shop, "done");
  await shop.context.close();
});

test("without the part for saved cards, and at a service that knows none, there is the form of a new card", async () => {
  for (const cards of [undefined, [], three()]) {
    const context = await world.browser.newContext();
    const asked = [];
    await context.route("**/saved.js*", (route) => (asked.push(route.request().url()), route.abort()));
    const shop = await openShop({ session: world.mock.session({ ...(cards && { SavedCards: cards }) }), context });
    assert.equal(await shop.frame.locator(".toggle").count(), 0);
    assert.equal(await shop.page.locator("#pay #card").isVisible(), true);
    assert.equal(asked.length > 0, cards?.length > 0, "loaded only where there are cards");
    await fill(shop);
    await shop.button().click();
    await endPanel(shop, "done");
    await context.close();
  }
});

test("a list that does not come is not waited for long", async () => {
  const context = await world.browser.newContext();
  await context.route("**/saved.js*", () => {});
  const shop = await openShop({ session: world.mock.session({ SavedCards: three() }), context });
  await shop.page.locator("#pay .root:not(.loading)").waitFor();
  assert.equal(await shop.frame.locator(".toggle").count(), 0);
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  await context.close();
});

test("a page that was loaded while a payment was under way lists the cards once it has failed", async () => {
  const session = world.mock.session({ State: "PROCESSING" });
  const shop = await openShop({ session, wait: false });
  await status(shop, "Your payment is being processed").waitFor();
  world.mock.entry(session).session.SavedCards = three();
  world.mock.finish(session, { failed: "PAYMENT_DECLINED" });
  const entries = shop.frame.locator(".accordion .entry");
  await entries.first().waitFor();
  assert.equal(await entries.count(), 4);
  assert.match(await entries.nth(3).locator(".notice").innerText(), /declined/);
  await entries.nth(0).locator(".toggle").click();
  await until(async () => (await entries.nth(0).locator(".pay").getAttribute("aria-disabled")) === null, "the button to be ready");
  await entries.nth(0).locator("input").fill("123");
  await entries.nth(0).locator(".pay").click();
  await endPanel(shop, "done");
  await shop.context.close();
});

test("in Arabic the list runs from right to left, and the last digits do not", async () => {
  const shop = await openSaved({ options: { locale: "ar_EG" } });
  assert.equal((await shop.names())[0], "Visa •••• 4242، 12/31");
  const [scheme, number, expiry] = await Promise.all([0, 1, 2].map((index) => shop.entry(0).locator(".toggle bdi").nth(index).boundingBox()));
  assert.ok(scheme.x > number.x && number.x > expiry.x, "from right to left");
  const digits = await shop.entry(0).locator(".toggle bdi").nth(1).evaluate((element) => {
    const place = (index) => {
      const range = document.createRange();
      range.setStart(element.firstChild, index);
      range.setEnd(element.firstChild, index + 1);
      return range.getBoundingClientRect().x;
    };
    return [0, 5, 6, 7, 8].map(place);
  });
  assert.deepEqual([...digits].sort((a, b) => a - b), digits, "dots, then digits, from left to right");
  await shop.code(0).pressSequentially("١٢٣");
  await shop.pay(0).click();
  await endPanel(shop, "done");
  await shop.context.close();
});
