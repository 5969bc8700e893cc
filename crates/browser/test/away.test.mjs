// Payments that need the shopper elsewhere: pages that take the place of the shop's, and the bank's page in the dialog.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENGINE, endPanel, fill, lacks, NARROWEST, openShop, status, until, useWorld, world } from "./harness.mjs";
import { CHALLENGED } from "./mock-server.mjs";

useWorld();

const WAITING = "Your payment is waiting for you";
const CONFIRM = "Confirm the payment with your bank";

/** The shop with the bank's page open in the dialog. */
async function challenged(more = {}) {
  const session = world.mock.session();
  const shop = await openShop({ session, ...more });
  await fill(shop, { number: CHALLENGED });
  await shop.button().click();
  await shop.bank.locator("#confirm").waitFor();
  return shop;
}

/** The shop of a payment that already waits elsewhere. */
async function waiting(result = {}, more = {}) {
  const session = world.mock.session({ others: true });
  world.mock.finish(session, { State: "REDIRECTED", RedirectUrl: world.mock.bankPage(session), ...result });
  const shop = await openShop({ session, wait: false, ...more });
  await shop.page.locator("#pay .status").waitFor();
  return shop;
}

const activeIs = (locator) => locator.evaluate((element) => element.getRootNode().activeElement === element);
const followed = (session, from) => world.mock.calls("GET", `${session}/progress`).filter(({ search }) => search.includes(`from=${from}`)).length;

test("a method that is paid elsewhere takes the whole page there, and back to the shop", async () => {
  const session = world.mock.session({ others: true });
  const shop = await openShop({ session });
  await shop.method("ideal").click();
  await shop.payBy("ideal").click();
  await shop.page.waitForURL(world.mock.bankPage(session));
  await shop.page.locator("#confirm").click();
  await shop.page.waitForURL(/back=COMPLETED/);
  await shop.go();
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("the shop under the strictest CSP is left for the page of a method all the same", async () => {
  const session = world.mock.session({ others: true });
  const shop = await openShop({ session, path: "/strict" });
  await shop.method("paypal").click();
  await shop.payBy("paypal").click();
  await shop.page.waitForURL(world.mock.bankPage(session));
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("after the back button the payment still waits: it is offered again, and watched", async () => {
  const session = world.mock.session({ others: true });
  const shop = await openShop({ session });
  await shop.method("paypal").click();
  await shop.payBy("paypal").click();
  await shop.page.waitForURL(world.mock.bankPage(session));
  await shop.page.goBack();
  if (!(await shop.page.evaluate(() => "heard" in window))) await shop.init();
  await status(shop, WAITING).waitFor();
  assert.equal(await shop.goOn.innerText(), "Continue your payment");
  assert.equal(shop.page.url(), `${world.mock.shopUrl}/`, "nobody is sent away twice");
  await until(() => followed(session, "REDIRECTED") > 0, "the payment to be watched");
  await shop.goOn.click();
  await shop.page.waitForURL(world.mock.bankPage(session));
  assert.equal(world.mock.entry(session).payments, 1);
  await shop.context.close();
});

test("a page that comes back from the browser's memory offers to go on, once more", async () => {
  const shop = await waiting();
  await shop.goOn.waitFor();
  const before = followed(shop.session, "PROCESSING");
  await shop.frameOf().evaluate(() => window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
  await until(() => followed(shop.session, "PROCESSING") > before, "the payment to be looked at again");
  await status(shop, WAITING).waitFor();
  await shop.goOn.click();
  await shop.page.waitForURL(world.mock.bankPage(shop.session));
  await shop.context.close();
});

test("a reload offers to go on, is told of the end, and calls nothing before", async () => {
  const shop = await waiting();
  await status(shop, WAITING).waitFor();
  assert.equal(await shop.page.locator("#pay .toggle:visible").count(), 0, "there is nothing else to choose");
  assert.match(await shop.page.locator("#pay [role=status]").textContent(), /Your payment is waiting for you\. Finish it/);
  await until(() => followed(shop.session, "REDIRECTED") === 1, "one call to wait for the change");
  assert.deepEqual(await shop.ends(), []);
  world.mock.finish(shop.session, { State: "PROCESSING" });
  await status(shop, "Your payment is being processed").waitFor();
  world.mock.finish(shop.session, { State: "FAILED", ErrorCode: "PAGE_CANCELLED", ErrorMessage: "mock" });
  const panel = await endPanel(shop, "fail");
  const words = "The payment was cancelled, and nothing was charged. Go back to the shop to start again.";
  assert.ok((await panel.innerText()).includes(words));
  assert.deepEqual(await shop.ends(), [["failure", "PAGE_CANCELLED", words]]);
  await shop.context.close();
});

test("while the payment waits for the shopper nobody is told that it takes long; once it goes on, it is", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true }) });
  await shop.page.clock.install();
  world.mock.finish(shop.session, { State: "REDIRECTED", RedirectUrl: world.mock.bankPage(shop.session) });
  await shop.method("paypal").click();
  await shop.payBy("paypal").click();
  await status(shop, WAITING).waitFor();
  await until(() => followed(shop.session, "REDIRECTED") > 0, "the payment to be watched");
  await shop.page.clock.fastForward(24_000);
  await shop.page.clock.fastForward(5_000);
  assert.equal(await status(shop, WAITING).isVisible(), true);
  world.mock.finish(shop.session, { State: "PROCESSING" });
  await status(shop, "Your payment is being processed").waitFor();
  await shop.page.clock.fastForward(24_000);
  assert.equal(await status(shop, "Your payment is being checked").isVisible(), false);
  await shop.page.clock.fastForward(1_500);
  await status(shop, "Your payment is being checked").waitFor();
  await shop.context.close();
});

test("only web addresses are gone to", async () => {
  for (const RedirectUrl of ["javascript:document.body.replaceChildren()", "data:text/html,<p>x", "bankapp://pay", ""]) {
    const session = world.mock.session({ others: true });
    const shop = await openShop({ session });
    world.mock.byMethod = () => ({ State: "REDIRECTED", RedirectUrl });
    await shop.method("paypal").click();
    await shop.payBy("paypal").click();
    await until(() => followed(session, "REDIRECTED") > 0, "the payment to be watched");
    delete world.mock.byMethod;
    assert.equal(shop.page.url(), `${world.mock.shopUrl}/`);
    if (await shop.goOn.isVisible()) await shop.goOn.click();
    world.mock.finish(session, { State: "FAILED", ErrorCode: "PAGE_EXPIRED" });
    const panel = await endPanel(shop, "fail");
    assert.match(await panel.innerText(), /not finished in time/);
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  }
});

test("the bank's page opens in a dialog and the payment goes on when it is done", async () => {
  const shop = await challenged();
  assert.equal(await shop.dialog.getAttribute("open"), "");
  assert.equal(await shop.page.getByRole("dialog", { name: CONFIRM }).count(), 1);
  assert.equal(await shop.dialog.evaluate((dialog) => dialog.matches(":modal")), true);
  assert.equal(await shop.dialog.locator("iframe").getAttribute("title"), CONFIRM);
  const outer = (await shop.page.frames()).find((frame) => frame.url().includes("/challenge.html"));
  assert.equal(await outer.evaluate(() => `${document.title} ${document.documentElement.lang} ${document.querySelector("iframe").title}`), `${CONFIRM} en ${CONFIRM}`);
  assert.equal(await outer.locator("progress").count(), 0, "the sign of work goes when the bank's page is there");
  assert.deepEqual(await shop.ends(), []);
  await shop.bank.locator("#confirm").click();
  await endPanel(shop, "done");
  assert.equal(await shop.page.locator("#pay dialog[open]").count(), 0);
  assert.equal(await shop.page.locator("#pay dialog iframe").count(), 0);
  assert.equal(await shop.page.evaluate(() => document.querySelector("#pay").shadowRoot.activeElement?.className), "end done", "the focus returns");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.equal(world.mock.entry(shop.session).payments, 1);
  assert.deepEqual(await shop.page.evaluate(() => window.windowMessages), []);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a bank that could not confirm leads back to the form, with words of its own", async () => {
  const shop = await challenged();
  await shop.bank.locator("#fail").click();
  await shop.frame.getByText("Your bank could not make sure that it is you").first().waitFor();
  assert.equal(await shop.page.locator("#pay dialog[open]").count(), 0);
  assert.equal(await shop.field("number").inputValue(), "4000 0000 0000 3220");
  assert.equal(await shop.field("code").inputValue(), "");
  assert.deepEqual(await shop.ends(), []);
  await fill(shop);
  await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button to be ready");
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("while the bank's answer is processed the dialog is closed and the status shown", async () => {
  const shop = await challenged();
  world.mock.finish(shop.session, { State: "PROCESSING" });
  await status(shop, "Your payment is being processed").waitFor();
  assert.equal(await shop.page.locator("#pay dialog[open]").count(), 0);
  assert.equal(await shop.page.evaluate(() => document.querySelector("#pay").shadowRoot.activeElement?.classList.contains("status")), true, "the focus returns");
  world.mock.finish(shop.session);
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("a closed dialog leaves the payment waiting, and opens again", async () => {
  const shop = await challenged();
  const closings = [
    () => shop.dialog.getByRole("button", { name: "Close" }).click(),
    async () => {
      await shop.dialog.getByRole("button", { name: "Close" }).focus();
      await shop.page.keyboard.press("Escape");
    },
  ];
  for (const close of closings) {
    await close();
    await shop.dialog.waitFor({ state: "hidden" });
    await status(shop, CONFIRM).waitFor();
    assert.equal(await activeIs(shop.goOn), true, "the focus is on what to do next");
    await until(async () => (await shop.page.locator("#pay dialog iframe").count()) === 0, "the bank's page to go");
    assert.deepEqual(await shop.ends(), []);
    assert.equal(world.mock.entry(shop.session).session.State, "REDIRECTED");
    await shop.page.keyboard.press("Enter");
    await shop.bank.locator("#confirm").waitFor();
  }
  await shop.bank.locator("#confirm").click();
  await endPanel(shop, "done");
  assert.equal(shop.orders().length, 1);
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

for (const path of ["/strict", "/isolated", "/nonce", "/fortress"]) {
  const isolated = ["/isolated", "/fortress"].includes(path);
  test(`a bank's check works on ${path}`, lacks(isolated && "credentialless"), async () => {
    const shop = await challenged({ path });
    assert.equal(await shop.page.evaluate(() => crossOriginIsolated), isolated);
    const bank = (await shop.page.frames()).find((frame) => frame.url().startsWith(world.mock.bankUrl));
    assert.equal((await bank.evaluate(() => window.credentialless)) ?? false, isolated, "only an isolated page costs the bank its cookies");
    await shop.bank.locator("#confirm").click();
    await endPanel(shop, "done");
    assert.deepEqual(await shop.ends(), [["success"]]);
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  });
}

test("an isolated page in a browser that cannot frame the bank there is left for the bank's", async () => {
  const context = await world.browser.newContext();
  await context.addInitScript(() => delete HTMLIFrameElement.prototype.credentialless);
  const session = world.mock.session();
  const shop = await openShop({ session, context, path: "/isolated" });
  await fill(shop, { number: CHALLENGED });
  await shop.button().click();
  await shop.page.waitForURL(world.mock.bankPage(session));
  await context.close();
});

test("the bank's page cannot take the shop's away; the shopper can open it in the whole window", async () => {
  const shop = await challenged();
  await shop.bank.locator("#out").click();
  // The others refuse without a word.
  if (ENGINE === "chromium") await until(() => shop.problems.some((problem) => problem.includes("sandboxed")), "the browser to refuse");
  assert.equal(shop.page.url(), `${world.mock.shopUrl}/`);
  await shop.dialog.getByRole("button", { name: "Open the bank’s page in this window" }).click();
  await shop.page.waitForURL(world.mock.bankPage(shop.session));
  await shop.page.locator("#confirm").click();
  await shop.page.waitForURL(/back=COMPLETED/);
  await shop.context.close();
});

for (const [why, answer, lacking] of [
  ["does not load", (route) => route.abort()],
  ["is not the one that was built", async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, body: `${await response.text()}window.stop();\n` });
  }, "digests"],
]) {
  test(`where the dialog ${why}, the bank's page takes the whole window`, lacks(lacking), async () => {
    const context = await world.browser.newContext();
    await context.route("**/dialog.js*", answer);
    const session = world.mock.session();
    const shop = await openShop({ session, context });
    await fill(shop, { number: CHALLENGED });
    await shop.button().click();
    await shop.page.waitForURL(world.mock.bankPage(session));
    await context.close();
  });
}

test("after a reload the dialog waits to be asked for", async () => {
  const shop = await waiting({ Challenge: true });
  await status(shop, CONFIRM).waitFor();
  await until(() => followed(shop.session, "REDIRECTED") > 0, "the payment to be watched");
  assert.equal(await shop.page.locator("#pay dialog[open]").count(), 0);
  await shop.goOn.click();
  await shop.bank.locator("#confirm").click();
  await endPanel(shop, "done");
  await shop.context.close();
});

test("the page in the dialog asks until the service answers, and shows no page but the bank's", async () => {
  const shop = await waiting({ Challenge: true });
  await shop.goOn.waitFor();
  world.mock.entry(shop.session).faults.ask = ["reset", 503];
  await shop.goOn.click();
  await shop.bank.locator("#confirm").waitFor();
  assert.equal(world.mock.entry(shop.session).faults.ask.length, 0);
  await shop.dialog.getByRole("button", { name: "Close" }).click();
  for (const change of [{ RedirectUrl: "javascript:alert(1)" }, { RedirectUrl: "data:text/html,x" }, { Challenge: false }]) {
    const { result } = world.mock.entry(shop.session);
    world.mock.entry(shop.session).result = { ...result, ...change };
    const asked = () => world.mock.calls("GET", `${shop.session}/progress`).filter(({ search }) => search === "?wait=0").length;
    const before = asked();
    await shop.goOn.click();
    await until(() => asked() > before, "the page to ask");
    await shop.page.frameLocator("#pay dialog iframe").locator("progress").waitFor();
    assert.equal(await shop.page.frameLocator("#pay dialog iframe").locator("iframe").count(), 0);
    await shop.dialog.getByRole("button", { name: "Close" }).click();
    world.mock.entry(shop.session).result = result;
  }
  assert.deepEqual(shop.problems.filter((problem) => !problem.includes("Failed to load resource")), []);
  await shop.context.close();
});

test("on a phone the dialog is the whole screen, on a desk it is not, and nothing overflows", async () => {
  const shop = await challenged();
  const covers = () => shop.dialog.evaluate((dialog) => {
    const { width, height } = dialog.getBoundingClientRect();
    return [width === innerWidth && height === innerHeight, dialog.scrollWidth <= dialog.clientWidth && dialog.scrollHeight <= dialog.clientHeight];
  });
  assert.deepEqual(await covers(), [false, true]);
  for (const [width, height] of [[390, 800], [320, 568], [NARROWEST, 653]]) {
    await shop.page.setViewportSize({ width, height });
    assert.deepEqual(await covers(), [true, true], `${width} px`);
    const bank = await shop.dialog.locator("iframe").boundingBox();
    assert.ok(bank.height > height * 0.75 && bank.width === width, `${width} px: the bank's page has the room`);
  }
  await shop.context.close();
});

test("a new init takes an open dialog away and offers to go on", async () => {
  const shop = await challenged();
  await shop.init();
  await status(shop, CONFIRM).waitFor();
  await shop.goOn.waitFor();
  assert.equal(await shop.page.locator("#pay dialog[open]").count(), 0);
  await shop.goOn.click();
  await shop.bank.locator("#confirm").click();
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]], "the replaced instance is heard of no more");
  await shop.context.close();
});

test("a second tab only offers what the first one was sent to", async () => {
  const session = world.mock.session({ others: true });
  const first = await openShop({ session });
  const second = await openShop({ session, context: first.context });
  await first.method("paypal").click();
  await first.payBy("paypal").click();
  await first.page.waitForURL(world.mock.bankPage(session));
  await second.page.bringToFront();
  await second.method("ideal").click();
  await second.payBy("ideal").click();
  await status(second, WAITING).waitFor();
  assert.equal(second.page.url(), `${world.mock.shopUrl}/`);
  await first.page.locator("#cancel").click();
  await second.panel("ideal").getByText("The payment was cancelled").waitFor();
  assert.equal(world.mock.entry(session).payments, 1);
  assert.deepEqual(await second.ends(), []);
  await first.context.close();
});
