// The protocol between shell and frame under hostile messages: what is not in it changes nothing, stops nothing and is answered by nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endPanel, fill, openShop, until, useWorld, world } from "./harness.mjs";
import { hostile, KINDS } from "./hostile.mjs";
import { load } from "./source.mjs";

useWorld();

const MESSAGES = 100_000;
const IN_BROWSER = 5_000;

test(`of ${MESSAGES} hostile messages exactly those are taken that are in the protocol`, async () => {
  const { isFrameMessage, isShellMessage, isPortOffer } = await load("shared/protocol.ts");
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  for (const [end, guard] of [["frame", isFrameMessage], ["shell", isShellMessage]]) {
    const { next, isTaken } = hostile(20261126, KINDS[end]);
    let taken = 0;
    for (let index = 0; index < MESSAGES / 2; index += 1) {
      const message = next();
      const expected = isTaken(message);
      assert.equal(guard(message), expected, `${end} ${index}`);
      assert.equal(isPortOffer(message), false);
      taken += expected;
    }
    // Both kinds came, or nothing was tried.
    assert.ok(taken > MESSAGES / 20 && taken < MESSAGES / 3, `${taken} are in the protocol`);
  }
  assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), before);
  assert.equal({}.isAdmin, undefined);
});

/** A shop whose page may use the drop-in's own channel, as a hostile script on it could. */
async function openWithChannel() {
  const context = await world.browser.newContext();
  await context.addInitScript(() => {
    const Real = window.MessageChannel;
    window.channels = [];
    window.MessageChannel = class extends Real {
      constructor() {
        super();
        window.channels.push(this);
      }
    };
  });
  return openShop({ session: world.mock.session({ others: true }), context });
}

/** Runs in a page: sends hostile messages of a kind by `send`, those that are part of the protocol and do something left out. */
function barrage({ source, kinds, count, harmless, way }) {
  const { next, isTaken } = new Function(`return (${source})`)()(7, kinds);
  const { port1 } = window.channels[0];
  const frame = document.querySelector("#pay").shadowRoot.querySelector("iframe").contentWindow;
  const ways = {
    port: (message) => port1.postMessage(message),
    shell: (message) => port1.onmessage(new MessageEvent("message", { data: message })),
    frame: (message) => frame.postMessage(message, "*"),
    offer: (message) => frame.postMessage({ ...Object(message), type: "dropin-port", protocol: 2 }, "*", [new MessageChannel().port2]),
    page: (message) => window.postMessage(message, "*"),
  };
  let sent = 0;
  for (let index = 0; index < count; index += 1) {
    const message = next();
    if (isTaken(message) && !harmless.includes(message.type)) continue;
    ways[way](message);
    sent += 1;
  }
  return sent;
}

test("hostile messages at both ends of a real drop-in change nothing: it pays, once", async () => {
  const shop = await openWithChannel();
  await fill(shop);
  const calls = world.mock.requests.length;
  const height = await shop.page.locator("#pay iframe").evaluate((frame) => frame.clientHeight);
  for (const [way, kinds, harmless, count] of [
    ["frame", KINDS.shell, Object.keys(KINDS.shell), IN_BROWSER], ["page", KINDS.frame, Object.keys(KINDS.frame), IN_BROWSER], ["offer", KINDS.shell, [], 200],
    ["port", KINDS.shell, ["theme", "select", "setup"], IN_BROWSER], ["shell", KINDS.frame, ["hello", "size", "enabled", "notice"], IN_BROWSER],
  ]) {
    const sent = await shop.page.evaluate(barrage, { source: String(hostile), kinds, count, harmless, way });
    assert.ok(sent > count / 2, `${way}: ${sent}`);
  }
  // As the shell says it, so that the form is as it was; then all messages before have been heard.
  await shop.page.evaluate((height) => {
    const { port1 } = window.channels[0];
    port1.onmessage(new MessageEvent("message", { data: { type: "size", height } }));
    for (const message of [{ type: "setup", hideSubmitButton: false, headingLevel: 2 }, { type: "select", method: "" }, { type: "select", method: "CARD" }]) port1.postMessage(message);
  }, height);
  await until(async () => (await shop.button().isVisible()) && (await shop.button().getAttribute("aria-disabled")) === null, "the form");
  assert.equal(world.mock.requests.length, calls, "nothing was asked of the service");
  assert.equal(await shop.field("number").inputValue(), "4242 4242 4242 4242");
  assert.deepEqual(shop.problems, []);
  assert.deepEqual(await shop.ends(), []);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.equal(world.mock.entry(shop.session).payments, 1);
  await shop.context.close();
});
