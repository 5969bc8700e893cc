// Methods beside cards: the accordion, what its buttons send, and the details of a bank transfer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENGINE, endPanel, fill, openShop, status, until, useWorld, world } from "./harness.mjs";
import { BANK_DETAILS, OTHERS } from "./mock-server.mjs";

useWorld();

const offering = (ids, more = {}) => world.mock.session({ PaymentMethods: OTHERS.filter(({ Id }) => ids.includes(Id)), ...more });

async function openWithoutCards(session, options = {}) {
  const shop = await openShop({ session, options, wait: false });
  await shop.page.locator("#pay .root:not(.loading)").waitFor();
  return shop;
}

test("every method has its entry; one at a time is open, and all can be closed", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true }) });
  const headings = await shop.page.locator("#pay .entry .title:visible").allInnerTexts();
  assert.deepEqual(headings, ["Card", "PayPal", "iDEAL", "Pay later", "Bank transfer"]);
  const expanded = () => shop.page.locator("#pay .toggle[aria-expanded=true]").evaluateAll((toggles) => toggles.map(({ id }) => id));
  assert.deepEqual(await expanded(), ["card"]);
  for (const [id, line, button] of [
    ["paypal", "You will be sent to PayPal to pay $29.90.", "Continue to PayPal"],
    ["ideal", "You will be sent to iDEAL to pay $29.90.", "Continue to iDEAL"],
    ["paylater", "You will be sent to the provider’s page to pay $29.90 later or in parts.", "Continue to the provider"],
    ["banktransfer", "You will get the details to transfer $29.90.", "Show bank details"],
  ]) {
    await shop.method(id).click();
    assert.deepEqual(await expanded(), [id]);
    await shop.payBy(id).waitFor();
    assert.equal(await shop.panel(id).locator(".line").innerText(), line);
    assert.equal(await shop.payBy(id).innerText(), button);
    assert.equal(await shop.panel(id).getAttribute("aria-labelledby"), id);
    assert.equal(await shop.method(id).getAttribute("aria-controls"), `${id}-panel`);
    assert.equal(await shop.method(id).locator("svg[aria-hidden=true]").count(), 2, "a mark, and the arrow");
  }
  await shop.field("number").waitFor({ state: "hidden" });
  await shop.method("banktransfer").click();
  assert.deepEqual(await expanded(), [], "pressed again, it closes");
  for (const id of ["ideal", "card"]) {
    await shop.method(id).click();
    await shop.page.evaluate(() => window.instance.unselectPaymentMethod());
    assert.deepEqual(await expanded(), []);
  }
  await shop.payBy("ideal").waitFor({ state: "hidden" });
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a method is ready as soon as it is open, a card when it is complete", async () => {
  const session = world.mock.session({ others: true });
  const shop = await openShop({ session });
  const hears = (states) => until(async () => JSON.stringify(await shop.enabled()) === JSON.stringify(states), `the page to hear ${states}`);
  await shop.method("ideal").click();
  await hears([true]);
  await shop.method("paypal").click();
  await shop.method("card").click();
  await hears([true, false]);
  await fill(shop);
  await hears([true, false, true]);
  await shop.method("banktransfer").click();
  await shop.page.evaluate(() => window.instance.unselectPaymentMethod());
  await hears([true, false, true, false]);
  await shop.page.evaluate(() => window.instance.submitPayment());
  await shop.method("card").click();
  await hears([true, false, true, false, true]);
  assert.equal(shop.orders().length, 0, "nothing is submitted while no method is open");
  assert.equal(await shop.field("number").inputValue(), "4242 4242 4242 4242");
  await shop.context.close();
});

test("a method is submitted by its name, without a card, and once however often it is pressed", async () => {
  const session = world.mock.session({ others: true, slow: true });
  const shop = await openShop({ session });
  await shop.method("paypal").click();
  await until(async () => (await shop.enabled()).length === 1, "the method to be ready");
  await shop.payBy("paypal").evaluate((button) => {
    for (let i = 0; i < 10; i++) button.click();
  });
  await shop.page.evaluate(() => {
    for (let i = 0; i < 10; i++) window.instance.submitPayment();
  });
  await until(() => world.mock.calls("GET", `${session}/progress`).length === 1, "the payment to be followed");
  const [order, ...more] = shop.orders();
  assert.deepEqual(more, []);
  assert.deepEqual(Object.keys(order).sort(), ["AttemptId", "DeviceFingerprint", "PaymentMethod", "Version"]);
  assert.equal(order.PaymentMethod, "PAYPAL");
  assert.equal(await shop.payBy("paypal").getAttribute("aria-busy"), "true");
  assert.equal(await shop.payBy("paypal").getAttribute("aria-disabled"), "true");
  assert.equal(await shop.page.locator("#pay [role=status]").textContent(), "Paying $29.90…");
  await shop.method("card").click({ force: true });
  await shop.page.evaluate(() => window.instance.unselectPaymentMethod());
  assert.equal(await shop.method("paypal").getAttribute("aria-expanded"), "true", "the choice stands while it is being paid");
  const { MerchantId } = world.mock.entry(session).session;
  assert.equal(world.mock.requests.filter(({ path }) => path.startsWith(`/stash/${MerchantId}/`)).length, 0);
  world.mock.finish(session);
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("a lost connection repeats the same attempt of a method", async () => {
  for (const fault of ["reset", "done-reset", 503]) {
    const session = world.mock.session({ others: true, faults: { submit: [fault] } });
    const shop = await openShop({ session });
    await shop.method("banktransfer").click();
    await shop.payBy("banktransfer").click();
    await endPanel(shop, "done");
    assert.equal(new Set(shop.orders().map(({ AttemptId }) => AttemptId)).size, 1);
    assert.ok(shop.orders().length > 1, "it was repeated");
    assert.equal(world.mock.entry(session).payments, 1);
    await shop.context.close();
  }
});

test("the choice survives a changed total, which is shown at the method and paid only when pressed again", async () => {
  const session = world.mock.session({ others: true });
  const shop = await openShop({ session });
  await shop.method("banktransfer").click();
  await shop.payBy("banktransfer").waitFor();
  world.mock.change(session, 34.9);
  await shop.panel("banktransfer").evaluate((panel) => {
    const press = () => panel.querySelector(".pay").click();
    new MutationObserver(press).observe(panel.querySelector(".notice"), { attributes: true });
  });
  await shop.payBy("banktransfer").click();
  const notice = shop.panel("banktransfer").locator(".notice");
  await notice.waitFor();
  const words = "The total changed from $29.90 to $34.90. Please check it and press the button again.";
  assert.equal(await notice.innerText(), words);
  assert.equal(await shop.page.locator("#pay [role=status]").textContent(), words);
  assert.equal(await shop.panel("banktransfer").locator(".line").innerText(), "You will get the details to transfer $34.90.");
  assert.equal(await shop.method("banktransfer").getAttribute("aria-expanded"), "true");
  assert.equal(await shop.payBy("banktransfer").evaluate((button) => button.getRootNode().activeElement === button), true, "the focus stays");
  await until(async () => (await shop.payBy("banktransfer").getAttribute("aria-disabled")) === null, "the button to be ready");
  assert.equal(world.mock.entry(session).payments, 0, "a press in the moment of the change confirms nothing");
  await shop.payBy("banktransfer").click();
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(session).paidAmount, 34.9);
  assert.deepEqual(shop.orders().map(({ Version }) => Version), [1, 2]);
  await shop.context.close();
});

test("the choice survives a new init and a frame that starts over", async () => {
  const session = world.mock.session({ others: true });
  const shop = await openShop({ session });
  const chosen = async (what) => {
    await shop.page.locator("#pay .root:not(.loading)").waitFor();
    await until(async () => (await shop.method("ideal").getAttribute("aria-expanded")) === "true", `the choice to survive ${what}`);
    assert.equal(await shop.page.locator("#pay .toggle[aria-expanded=true]").count(), 1);
  };
  await shop.method("ideal").click();
  await shop.init();
  await chosen("a new init");
  // The frame may be back before anybody looks: whether it was away is seen where it happens.
  await shop.page.evaluate(
    () =>
      new Promise((away) => {
        const host = [...document.querySelectorAll("#pay, #pay *")].find((one) => one.shadowRoot !== null);
        const root = host.shadowRoot.querySelector(".root");
        new MutationObserver(() => root.classList.contains("loading") && away()).observe(root, { attributes: true });
        document.querySelector("main").append(document.querySelector("#pay"));
      }),
  );
  await chosen("a frame that starts over");
  await until(async () => (await shop.enabled()).at(-1) === true, "the method to be ready");
  const other = world.mock.session({ others: true });
  shop.session = other;
  await shop.page.evaluate((id) => window.dropin.init({ target: "#pay", id, onSuccess: () => {} }), other);
  await shop.field("number").waitFor();
  assert.equal(await shop.method("card").getAttribute("aria-expanded"), "true", "another Session is another choice");
  await shop.context.close();
});

test("a method that is refused says so, and another one can be taken", async () => {
  const session = world.mock.session({ others: true });
  const shop = await openShop({ session });
  await shop.method("paypal").click();
  const { PaymentMethods } = world.mock.entry(session).session;
  world.mock.entry(session).session.PaymentMethods = PaymentMethods.filter(({ Id }) => Id !== "PAYPAL");
  await shop.payBy("paypal").click();
  await shop.panel("paypal").getByText("This payment method cannot be used for this order").waitFor();
  assert.deepEqual(await shop.ends(), []);
  await shop.method("banktransfer").click();
  await shop.payBy("banktransfer").click();
  await endPanel(shop, "done");
  assert.equal(new Set(shop.orders().map(({ AttemptId }) => AttemptId)).size, 2);
  await shop.context.close();
});

test("a method that the changed Session no longer offers goes, and its choice with it", async () => {
  const session = world.mock.session({ others: true });
  const shop = await openShop({ session });
  await shop.method("paypal").click();
  await shop.payBy("paypal").waitFor();
  const kept = world.mock.entry(session).session.PaymentMethods.filter(({ Id }) => Id !== "PAYPAL");
  world.mock.entry(session).session.PaymentMethods = kept;
  world.mock.change(session, 20);
  await shop.payBy("paypal").click();
  await shop.method("paypal").waitFor({ state: "hidden" });
  assert.equal(await shop.page.locator("#pay .toggle[aria-expanded=true]").count(), 0);
  await until(async () => (await shop.enabled()).at(-1) === false, "the page to hear of it");
  await shop.method("ideal").click();
  await shop.payBy("ideal").waitFor();
  assert.match(await shop.panel("ideal").locator(".line").innerText(), /\$20\.00/);
  await shop.context.close();
});

test("without cards there is no card entry; a single method is open from the start", async () => {
  const many = await openWithoutCards(offering(["PAYPAL", "IDEAL"], { Sandbox: true }));
  assert.deepEqual(await many.page.locator("#pay .entry .title:visible").allInnerTexts(), ["PayPal", "iDEAL"]);
  assert.equal(await many.page.locator("#pay .toggle[aria-expanded=true]").count(), 0);
  assert.equal(await many.page.locator("#pay .entry:visible").first().locator(".test").innerText(), "Test mode");
  await many.context.close();
  const one = await openWithoutCards(offering(["BANKTRANSFER"]));
  assert.equal(await one.method("banktransfer").getAttribute("aria-expanded"), "true");
  await one.payBy("banktransfer").click();
  await endPanel(one, "done");
  assert.deepEqual(await one.ends(), [["success"]]);
  await one.context.close();
});

test("without our buttons the page's own pays by the open method", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true }), options: { hideSubmitButton: true } });
  await shop.method("banktransfer").click();
  await shop.panel("banktransfer").locator(".line").waitFor();
  assert.equal(await shop.payBy("banktransfer").isVisible(), false);
  await until(async () => (await shop.enabled()).at(-1) === true, "the page to hear that it may pay");
  await shop.page.evaluate(() => window.instance.submitPayment());
  await endPanel(shop, "done");
  assert.deepEqual(shop.orders().map(({ PaymentMethod }) => PaymentMethod), ["BANKTRANSFER"]);
  await shop.context.close();
});

test("a bank transfer with nothing but the keyboard", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true }) });
  const { keyboard } = shop.page;
  const active = () => shop.page.evaluate(() => document.querySelector("#pay").shadowRoot.activeElement?.id);
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await until(async () => (await shop.method("card").getAttribute("aria-expanded")) === "false", "the card to close");
  for (const id of ["paypal", "ideal", "paylater", "banktransfer"]) {
    await keyboard.press("Tab");
    assert.equal(await active(), id, "what is closed is not in the way");
  }
  await keyboard.press("Space");
  await shop.payBy("banktransfer").waitFor();
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await endPanel(shop, "done");
  assert.equal(await shop.page.evaluate(() => document.querySelector("#pay").shadowRoot.activeElement?.className), "end done");
  await keyboard.press("Tab");
  assert.equal(await active(), "copy-0");
  await shop.context.close();
});

test("a bank transfer ends with its details, which can be copied, and onSuccess once", async () => {
  const session = world.mock.session({ others: true });
  const context = await world.browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const shop = await openShop({ session, context });
  await shop.method("banktransfer").click();
  await shop.payBy("banktransfer").click();
  const panel = await endPanel(shop, "done");
  assert.match(await panel.innerText(), /Transfer the amount to finish[\s\S]*Fern & Fjord confirms your order/);
  const details = () => panel.locator("dl > div").evaluateAll((rows) => rows.map((row) => [row.querySelector("dt").innerText, row.querySelector("bdi").innerText]));
  const shown = [
    ["Amount", "$29.90"], ["Recipient", "Dropin Sandbox"], ["IBAN", "DE02 1203 0000 0000 2020 51"], ["Account number", "0648489890"],
    ["SWIFT code (BIC)", "BYLADEM1001"], ["Further bank code", "ABA 021000021"], ["Payment reference", "ORDER-4711"],
    ["Name of the bank", "Bank of Trials"], ["Place of the bank", "Berlin, Germany"],
  ];
  assert.deepEqual(await details(), shown);
  // WebKit lets no page read it.
  const isRead = ENGINE !== "webkit";
  const copied = [];
  for (const label of ["Amount", "IBAN", "Payment reference"]) {
    await panel.getByRole("button", { name: `Copy ${label}`, exact: true }).click();
    await until(async () => (await shop.page.locator("#pay [role=status]").textContent()) === `${label}: Copied`, "the copy to be announced");
    if (isRead) copied.push(await shop.page.evaluate(() => navigator.clipboard.readText()));
  }
  assert.deepEqual(copied, isRead ? ["29.90", BANK_DETAILS.Iban, BANK_DETAILS.PaymentReference] : []);
  assert.equal(await panel.getByRole("button", { name: /^Cop(?:y|ied)/ }).count(), 7, "where the bank is needs no copy");
  assert.deepEqual(await shop.ends(), [["success"]]);
  const [paid] = await shop.paid();
  assert.deepEqual(paid, { state: "PROCESSING", orderId: world.mock.entry(session).orderId, method: "BANKTRANSFER" });
  assert.deepEqual(shop.problems, []);
  await shop.go();
  await endPanel(shop, "done");
  assert.deepEqual(await details(), shown, "they are there again after a reload");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await panel.getByRole("button", { name: "Continue" }).click();
  assert.match(await endPanel(shop, "done").then((thanks) => thanks.innerText()), /Payment submitted[\s\S]*Fern & Fjord will confirm your order/);
  assert.equal(await panel.locator("dl").count(), 0);
  assert.deepEqual(await shop.ends(), [["success"], ["continue"]], "the shopper went on, once");
  await context.close();
});

test("a long name of a merchant fits a narrow phone, whatever it stands in", async () => {
  const MerchantName = `${"Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamten".repeat(2)}gesellschaft`;
  const shop = await openShop({ session: world.mock.session({ others: true, Sandbox: true, MerchantName }), viewport: { width: 360, height: 740 } });
  const fits = async (what) => assert.equal(await shop.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, what);
  const isWhole = async (panel, what) => {
    const text = panel.locator("p", { hasText: MerchantName });
    const [box, room] = [await text.boundingBox(), await panel.boundingBox()];
    assert.ok(box.x >= room.x && box.x + box.width <= room.x + room.width, what);
    assert.equal(await text.evaluate((one) => one.scrollWidth <= one.clientWidth), true, what);
    await fits(what);
  };
  await fits("the methods");
  await shop.payWith("banktransfer");
  const panel = await endPanel(shop, "done");
  await isWhole(panel, "the details of a transfer");
  await panel.getByRole("button", { name: "Continue" }).click();
  await panel.locator("dl").waitFor({ state: "detached" });
  await isWhole(panel, "the thanks");
  await shop.context.close();
});

test("details that are not given leave no gap; where copying is forbidden the value is selected", async () => {
  const session = world.mock.session({ State: "COMPLETED", PaymentMethods: [] });
  world.mock.entry(session).result = { BankDetails: { Iban: "DE02120300000000202051", PaymentReference: "4711" } };
  const context = await world.browser.newContext();
  await context.addInitScript(() => {
    Object.defineProperty(navigator, "clipboard", { value: { writeText: () => Promise.reject(new DOMException("denied", "NotAllowedError")) } });
  });
  const shop = await openShop({ session, context, wait: false });
  const panel = await endPanel(shop, "done");
  await panel.locator("dt").first().waitFor();
  assert.deepEqual(await panel.locator("dt").allInnerTexts(), ["Amount", "IBAN", "Payment reference"]);
  await panel.getByRole("button", { name: "Copy Payment reference" }).click();
  await until(async () => (await shop.page.evaluate(() => getSelection().toString())) === "4711", "the value to be selected");
  assert.equal(await panel.getByRole("button", { name: "Copy Payment reference" }).innerText(), "Copy");
  await context.close();
});

test("a slow method is processed in sight of the shopper and ends like any other", async () => {
  const session = world.mock.session({ others: true, slow: true });
  const shop = await openShop({ session });
  await shop.method("banktransfer").click();
  await shop.payBy("banktransfer").click();
  await until(() => world.mock.entry(session).payments === 1, "the payment");
  await shop.go();
  await status(shop, "Your payment is being processed").waitFor();
  assert.equal(await shop.page.locator("#pay .toggle:visible").count(), 0);
  world.mock.finish(session, { State: "FAILED", ErrorCode: "TRY_LATER" });
  const panel = await endPanel(shop, "fail");
  assert.match(await panel.innerText(), /payment provider could not be reached/);
  await shop.context.close();
});
