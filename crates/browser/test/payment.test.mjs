import assert from "node:assert/strict";
import { test } from "node:test";
import { CARD, ENGINE, endPanel, fill, openShop, status, until, useWorld, world } from "./harness.mjs";

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
  const { orderId } = world.mock.entry(session);
  assert.deepEqual(await shop.paid(), [{ state: "PAYMENT_AUTHORIZED", orderId, method: "VISA" }]);
  assert.deepEqual((await shop.heard()).filter(([kind]) => kind === "enabled"), [["enabled", true], ["enabled", false]]);
  assert.equal(world.mock.entry(session).payments, 1);
  assert.equal(await shop.page.locator("#pay iframe").count(), 0, "the frame goes, and what was typed with it");
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});


test("a rate whose guarantee has ended is a failure that the shop hears of", async () => {
  const session = world.mock.session();
  world.mock.entry(session).rateExpired = true;
  const shop = await openShop({ session });
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "fail");
  const [[kind, code, message]] = await shop.ends();
  assert.deepEqual([kind, code], ["failure", "RATE_OFFER_EXPIRED"]);
  assert.match(message, /no longer guaranteed, and nothing was charged/);
  assert.equal(world.mock.entry(session).payments, 0);
  await shop.context.close();
});

test("ten clicks and ten calls are one request and one payment", async () => {
  const session = world.mock.session({ slow: true });
  const shop = await openShop({ session });
  await fill(shop);
  await until(async () => (await shop.heard()).length === 1, "the form to be complete");
  await shop.button().evaluate((button) => {
    for (let i = 0; i < 10; i++) button.click();
  });
  await shop.page.evaluate(() => {
    for (let i = 0; i < 10; i++) window.instance.submitPayment();
  });
  await until(() => world.mock.entry(session).payments === 1, "the payment");
  await until(() => world.mock.calls("GET", `${session}/progress`).length === 1, "the progress request");
  const { MerchantId } = world.mock.entry(session).session;
  assert.equal(world.mock.requests.filter(({ path }) => path.startsWith(`/stash/${MerchantId}/`)).length, 1);
  assert.equal(world.mock.calls("POST", `${session}/submit`).length, 1);
  world.mock.finish(session);
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("the attempt is written down before it is sent, and its id is the stash's and the submit's", async () => {
  const session = world.mock.session({ slow: true });
  const shop = await openShop({ session });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.calls("POST", `${session}/submit`).length === 1, "the submit");
  const stored = await shop.frameOf().evaluate(() => ({ ...sessionStorage, ...localStorage }));
  const order = JSON.parse(world.mock.calls("POST", `${session}/submit`)[0].body);
  assert.deepEqual(stored, { [`dropin.attempt.${session}`]: order.AttemptId, "dropin.device": order.DeviceFingerprint });
  assert.match(order.AttemptId, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  const stashed = world.mock.calls("POST", `/${order.AttemptId}`);
  assert.equal(stashed.length, 1, "the card was stashed under the attempt's id");
  const form = new URLSearchParams(stashed[0].body);
  const told = await shop.page.evaluate(() => [Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.language]);
  assert.deepEqual([form.get("TimeZone"), form.get("Language")], told, "and what the browser says of itself");
  assert.deepEqual(Object.keys(order).sort(), ["AttemptId", "DeviceFingerprint", "StashId", "Version"]);
  world.mock.finish(session);
  await endPanel(shop, "done");
  await shop.context.close();
});

test("an attempt whose answer a reload cut off is used again for the next press", async () => {
  const session = world.mock.session({ faults: { submit: Array(50).fill("reset") } });
  const shop = await openShop({ session });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.calls("POST", `${session}/submit`).length > 0, "the submit");
  await shop.go();
  world.mock.entry(session).faults.submit.length = 0;
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  const ids = world.mock.calls("POST", `${session}/submit`).map(({ body }) => JSON.parse(body).AttemptId);
  assert.equal(new Set(ids).size, 1);
  assert.equal(world.mock.entry(session).payments, 1);
  await shop.context.close();
});

test("a browser that denies storage to the frame pays all the same", async () => {
  const session = world.mock.session({ faults: { submit: ["done-reset"] } });
  const context = await world.browser.newContext();
  await context.addInitScript(() => {
    const deny = { get: () => { throw new DOMException("denied", "SecurityError"); } };
    Object.defineProperty(window, "sessionStorage", deny);
    Object.defineProperty(window, "localStorage", deny);
  });
  const shop = await openShop({ session, context });
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(session).payments, 1);
  await context.close();
});

test("a reload in the middle follows the payment to its end without asking again", async () => {
  const session = world.mock.session({ slow: true });
  const shop = await openShop({ session });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.entry(session).payments === 1, "the payment");
  await shop.go();
  await status(shop, "Your payment is being processed").waitFor();
  assert.equal(await shop.field("number").isVisible(), false);
  world.mock.finish(session);
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.equal(world.mock.calls("POST", `${session}/submit`).length, 1);
  await shop.context.close();
});

test("a second tab follows the first one's payment instead of making another", async () => {
  const session = world.mock.session({ slow: true });
  const first = await openShop({ session });
  const second = await openShop({ session, context: first.context });
  await fill(first);
  await fill(second);
  await first.page.bringToFront();
  await first.button().click();
  await until(() => world.mock.entry(session).payments === 1, "the payment");
  await second.page.bringToFront();
  await second.button().click();
  await status(second, "Your payment is being processed").waitFor();
  world.mock.finish(session);
  await endPanel(second, "done");
  await first.page.bringToFront();
  await endPanel(first, "done");
  assert.deepEqual([await first.ends(), await second.ends()], [[["success"]], [["success"]]]);
  assert.equal(world.mock.entry(session).payments, 1);
  await first.context.close();
});

test("a total that changed is shown and announced, and paid only when the shopper presses again", async () => {
  const session = world.mock.session();
  const shop = await openShop({ session });
  await fill(shop);
  world.mock.change(session, 34.9);
  await shop.button().dblclick();
  const notice = shop.frame.locator(".notice");
  await notice.waitFor();
  const words = "The total changed from $29.90 to $34.90. Please check it and press the button again.";
  assert.equal(await notice.innerText(), words);
  await until(async () => (await shop.frame.locator("#live").textContent()) === words, "it to be announced");
  assert.equal(await shop.button().innerText(), "Pay $34.90");
  // By the time that WebDriver has clicked, the rest may be over.
  await (ENGINE === "chromium" ? shop.button().click({ force: true }) : shop.button().evaluate((button) => button.ariaDisabled && button.click()));
  assert.equal(world.mock.entry(session).payments, 0, "the rest of a double click confirms nothing");
  await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button to be ready");
  assert.equal(world.mock.entry(session).payments, 0);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(session).paidAmount, 34.9);
  const orders = world.mock.calls("POST", `${session}/submit`).map(({ body }) => JSON.parse(body));
  assert.deepEqual(orders.map(({ Version }) => Version), [1, 2]);
  assert.notEqual(orders[0].AttemptId, orders[1].AttemptId);
  const states = (await shop.heard()).filter(([kind]) => kind === "enabled").map(([, state]) => state);
  assert.deepEqual(states, [true, false, true, false], "disabled from the first press until the new total has been seen");
  await shop.context.close();
});

test("a connection lost before or after the work is repeated under the same attempt", async () => {
  for (const faults of [{ submit: ["reset", "reset"] }, { submit: ["done-reset"] }, { submit: [503] }, { stash: ["reset"] }]) {
    const session = world.mock.session({ faults });
    const shop = await openShop({ session });
    await fill(shop);
    await shop.button().click();
    await endPanel(shop, "done");
    const ids = world.mock.calls("POST", `${session}/submit`).map(({ body }) => JSON.parse(body).AttemptId);
    assert.equal(new Set(ids).size, 1, JSON.stringify(faults));
    assert.equal(world.mock.entry(session).payments, 1);
    assert.deepEqual(await shop.ends(), [["success"]]);
    await shop.context.close();
  }
});

test("when no answer comes at all the payment is being checked, and settled once the network is back", async () => {
  // More than enough of them: the browser itself repeats a request when a kept-alive connection turns out to be dead.
  const faults = { submit: Array(50).fill("reset"), progress: Array(50).fill("reset") };
  const session = world.mock.session({ faults });
  const shop = await openShop({ session });
  await fill(shop);
  await shop.button().click();
  await status(shop, "Your payment is being checked").waitFor();
  assert.match(await shop.page.locator("#pay [role=status]").textContent(), /do not pay again/);
  assert.deepEqual(await shop.ends(), []);
  assert.equal(world.mock.entry(session).payments, 0);
  faults.progress.length = 0;
  faults.submit.length = 0;
  await endPanel(shop, "done");
  const ids = world.mock.calls("POST", `${session}/submit`).map(({ body }) => JSON.parse(body).AttemptId);
  assert.equal(new Set(ids).size, 1, "sent again under the same attempt when the service said that none had arrived");
  assert.equal(world.mock.entry(session).payments, 1);
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("a slow payment is said to be checked after 25 seconds, with neither callback", async () => {
  const session = world.mock.session({ slow: true });
  const shop = await openShop({ session });
  await fill(shop);
  await shop.page.clock.install();
  await shop.button().click();
  await until(() => world.mock.entry(session).payments === 1, "the payment");
  await shop.page.clock.fastForward(24_000);
  assert.equal(await status(shop, "Your payment is being checked").isVisible(), false);
  await shop.page.clock.fastForward(1_500);
  await status(shop, "Your payment is being checked").waitFor();
  assert.deepEqual(await shop.ends(), []);
  world.mock.finish(session);
  await endPanel(shop, "done");
  await shop.context.close();
});

test("what the stash warns about is shown at its field, and can be put right", async () => {
  const session = world.mock.session({ faults: { warnings: [["CardVerificationCodeInvalid"]] } });
  const shop = await openShop({ session });
  await fill(shop);
  await shop.button().click();
  await shop.frame.getByText("Check the security code.").first().waitFor();
  assert.equal(await shop.field("code").getAttribute("aria-invalid"), "true");
  assert.equal(world.mock.calls("POST", `${session}/submit`).length, 0);
  await shop.field("code").fill("321");
  assert.equal(await shop.field("code").getAttribute("aria-invalid"), null);
  await shop.button().click();
  await endPanel(shop, "done");
  await shop.context.close();
});

test("a stash entry that is gone asks the shopper to try again, under a new attempt", async () => {
  const session = world.mock.session();
  const shop = await openShop({ session });
  await fill(shop);
  const put = world.mock.stashed.set;
  world.mock.stashed.set = () => {};
  await shop.button().click();
  await shop.frame.getByText("The payment details could not be used").first().waitFor();
  world.mock.stashed.set = put;
  assert.deepEqual(await shop.ends(), []);
  await shop.button().click();
  await endPanel(shop, "done");
  const ids = world.mock.calls("POST", `${session}/submit`).map(({ body }) => JSON.parse(body).AttemptId);
  assert.equal(new Set(ids).size, 2);
  await shop.context.close();
});

test("a Session that is over, unknown or somebody else's is a failure told once", async () => {
  const cases = [
    [world.mock.session({ State: "CANCELLED" }), "SESSION_CANCELLED"],
    [world.mock.session({ State: "FAILED" }), "PAYMENT_DECLINED"],
    [world.mock.session({ PaymentMethods: [] }), "NO_PAYMENT_METHOD"],
    [world.mock.session({ faults: { view: [503, 503, 503, 503], embeddable: [503, 503, 503, 503] } }), "SERVICE_UNAVAILABLE"],
  ];
  for (const [session, code] of cases) {
    const shop = await openShop({ session, wait: false });
    await endPanel(shop, "fail");
    const ends = await shop.ends();
    assert.deepEqual(ends.map((end) => end.slice(0, 2)), [["failure", code]]);
    assert.ok(ends[0][2].length > 0, `${code} has a message`);
    await shop.context.close();
  }
});

test("a Session that is paid already succeeds without a form", async () => {
  const shop = await openShop({ session: world.mock.session({ State: "COMPLETED" }), wait: false });
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("a page brought back by the back button starts from what the Session is now", async () => {
  const session = world.mock.session({ slow: true });
  const shop = await openShop({ session });
  await fill(shop);
  const comeBack = () => shop.frameOf().evaluate(() => window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
  world.mock.change(session, 31);
  await comeBack();
  await shop.frame.getByRole("button", { name: "Pay $31.00" }).waitFor();
  assert.equal(await shop.field("number").inputValue(), "4242 4242 4242 4242");
  await shop.button().click();
  await until(() => world.mock.entry(session).payments === 1, "the payment");
  await comeBack();
  await status(shop, "Your payment is being processed").waitFor();
  world.mock.finish(session);
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("refused fields are all marked, the first one gets the focus and is announced", async () => {
  const session = world.mock.session();
  const shop = await openShop({ session });
  await shop.field("number").fill(CARD.number);
  await shop.field("expiry").fill("1320");
  await shop.button().click();
  assert.equal(await shop.frame.locator("[aria-invalid=true]").count(), 3);
  assert.equal(await shop.frameOf().evaluate(() => document.activeElement.id), "expiry");
  assert.equal(await shop.frame.locator("#live").textContent(), "Please correct the marked fields. Enter a month from 01 to 12.");
  const error = await shop.field("expiry").getAttribute("aria-describedby");
  assert.equal(await shop.frame.locator(`#${error}`).innerText(), "Enter a month from 01 to 12.");
  assert.equal(world.mock.requests.filter(({ method, path }) => method === "POST" && path.includes(session)).length, 0);
  await shop.context.close();
});
