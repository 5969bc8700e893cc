// What a page may ask of the drop-in beside a payment: to be told when it is ready and what changes, to be taken away, to fit the page's headings.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endPanel, fill, openShop, until, useWorld, world } from "./harness.mjs";
import { OTHERS } from "./mock-server.mjs";

useWorld();

test("onReady is called once, and not again when the Session is read again", async () => {
  const shop = await openShop({ session: world.mock.session() });
  const ready = async () => (await shop.events()).filter(([kind]) => kind === "ready").length;
  assert.equal(await ready(), 1);
  await fill(shop);
  world.mock.change(shop.session, 31);
  await shop.button().click();
  await shop.frame.locator(".notice").waitFor();
  assert.equal(await ready(), 1);
  await shop.context.close();
});

test("onChange tells the open method and whether it is complete, each change once", async () => {
  const shop = await openShop({ session: world.mock.session({ others: true }) });
  const changes = async () => (await shop.events()).filter(([kind]) => kind === "change").map(([, change]) => `${change.method} ${change.complete}`);
  const hears = (...expected) => until(async () => JSON.stringify(await changes()) === JSON.stringify(expected), `the page to hear ${expected}`);
  await hears("CARD false");
  await fill(shop);
  await hears("CARD false", "CARD true");
  await shop.field("code").fill("1");
  await hears("CARD false", "CARD true", "CARD false");
  await shop.method("ideal").click();
  await hears("CARD false", "CARD true", "CARD false", "IDEAL true");
  await shop.page.evaluate(() => window.instance.unselectPaymentMethod());
  await hears("CARD false", "CARD true", "CARD false", "IDEAL true", "null false");
  await shop.context.close();
});

test("onChange tells nothing before onReady, and then a method that there is", async () => {
  const PaymentMethods = OTHERS.filter(({ Id }) => ["PAYPAL", "IDEAL"].includes(Id));
  for (const [session, first] of [[{}, { method: "CARD", complete: false }], [{ PaymentMethods }, { method: null, complete: false }]]) {
    const shop = await openShop({ session: world.mock.session(session), wait: false });
    await until(async () => (await shop.events()).length >= 2, "the page to hear of it");
    assert.deepEqual(await shop.events(), [["ready"], ["change", first]]);
    await shop.context.close();
  }
  const shop = await openShop({ session: world.mock.session({ PaymentMethods: [] }), wait: false });
  await endPanel(shop, "fail");
  assert.deepEqual(await shop.events(), [], "there was no method at all");
  await shop.context.close();
});

test("a page that destroys the drop-in in onReady hears of no change", async () => {
  const shop = await openShop({ session: world.mock.session(), wait: false });
  const changes = await shop.page.evaluate(async (id) => {
    const heard = [];
    await new Promise((onReady) => {
      const instance = window.dropin.init({ target: "#pay", id, onSuccess: () => {}, onReady: () => (instance.destroy(), onReady()), onChange: (change) => heard.push(change) });
    });
    return heard;
  }, shop.session);
  assert.deepEqual(changes, []);
  await shop.context.close();
});

test("destroy takes everything away, calls nothing more, and leaves the target for another", async () => {
  const shop = await openShop({ session: world.mock.session({ slow: true }) });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.entry(shop.session).payments === 1, "the payment");
  const before = (await shop.events()).length;
  await shop.page.evaluate(() => {
    window.instance.destroy();
    window.instance.destroy();
    window.instance.submitPayment();
    window.instance.unselectPaymentMethod();
  });
  assert.equal(await shop.page.locator("#pay .root").count(), 0);
  assert.equal((await shop.page.frames()).length, 1, "the frame is gone");
  world.mock.finish(shop.session);
  await shop.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
  assert.equal((await shop.events()).length, before);
  await shop.init();
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a hundred of them, destroyed or with their node removed, leave no frame and no listener behind", async () => {
  const shop = await openShop({ session: world.mock.session() });
  const frames = await shop.page.evaluate(() => window.frames.length);
  const left = await shop.page.evaluate(async (id) => {
    let listeners = 0;
    const [add, remove] = [document.addEventListener, document.removeEventListener];
    document.addEventListener = function (...given) {
      listeners += 1;
      return add.apply(this, given);
    };
    document.removeEventListener = function (...given) {
      listeners -= 1;
      return remove.apply(this, given);
    };
    for (let i = 0; i < 100; i++) {
      const place = document.createElement("div");
      place.id = `place-${i}`;
      document.querySelector("main").append(place);
      const instance = window.dropin.init({ target: `#${place.id}`, id, onSuccess: () => {} });
      instance.destroy();
      place.remove();
    }
    return { listeners, frames: window.frames.length };
  }, shop.session);
  assert.deepEqual(left, { listeners: 0, frames });
  await shop.page.evaluate(() => document.querySelector("#pay").remove());
  await until(async () => (await shop.page.frames()).length === 1, "the frame to go with its node");
  assert.deepEqual(await shop.ends(), []);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a target that is taken away before its frame has loaded calls nothing, and stops listening", async () => {
  const context = await world.browser.newContext();
  await context.clock.install();
  // The frame never comes.
  await context.route("**/frame.html*", () => {});
  const prepare = () => {
    window.listening = 0;
    for (const [name, step] of [["addEventListener", 1], ["removeEventListener", -1]]) {
      const original = document[name];
      document[name] = function (type, ...rest) {
        if (type === "securitypolicyviolation") window.listening += step;
        return original.call(this, type, ...rest);
      };
    }
  };
  const shop = await openShop({ session: world.mock.session(), context, prepare, wait: false });
  const listening = () => shop.page.evaluate(() => window.listening);
  assert.equal(await listening(), 1);
  await shop.page.evaluate((asset) => {
    document.querySelector("#pay").remove();
    const blocked = { blockedURI: asset, effectiveDirective: "frame-src", violatedDirective: "frame-src", disposition: "enforce" };
    document.dispatchEvent(new SecurityPolicyViolationEvent("securitypolicyviolation", blocked));
  }, world.mock.assetUrl);
  await until(async () => (await listening()) === 0, "the listener to go with the target");
  // In the very task in which it was drawn there is nothing yet that could notice it.
  await shop.page.evaluate((id) => {
    const place = Object.assign(document.createElement("div"), { id: "passing" });
    document.querySelector("main").append(place);
    window.dropin.init({ target: "#passing", id, onSuccess: () => {}, onFailure: ({ errorCode }) => window.heard.push(["failure", errorCode]) });
    place.remove();
  }, shop.session);
  await context.clock.fastForward(60_000);
  assert.deepEqual([await shop.ends(), await shop.events(), await listening()], [[], [], 0]);
  assert.deepEqual(shop.problems, []);
  await context.close();
});

test("headings stand one level below the page's, at the level that is asked for, or not at all", async () => {
  for (const [options, prepare, expected] of [
    [{}, "", "3"],
    [{}, "document.querySelector('h2').outerHTML = '<h5>Payment</h5>'", "6"],
    [{}, "for (const one of document.querySelectorAll('h1, h2')) one.remove()", "2"],
    [{ headingLevel: 4 }, "", "4"],
    [{ headingLevel: 0 }, "", null],
  ]) {
    const shop = await openShop({ session: world.mock.session(), options, prepare });
    const title = shop.page.locator("#pay .entry .title").first();
    assert.deepEqual([await title.getAttribute("aria-level"), await title.getAttribute("role")], [expected, expected && "heading"]);
    await shop.context.close();
  }
  const shop = await openShop({ session: world.mock.session() });
  for (const headingLevel of [7, -1, 1.5, "2", NaN]) {
    const said = await shop.page.evaluate((given) => {
      try {
        window.dropin.init({ target: "#pay", id: "x", onSuccess: () => {}, headingLevel: given });
      } catch (error) {
        return String(error);
      }
    }, headingLevel);
    assert.match(said, /TypeError: dropin\.init: headingLevel must be/, String(headingLevel));
  }
  await shop.context.close();
});
