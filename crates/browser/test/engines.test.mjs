// The part that is tried in every engine before each change: Chromium, Firefox and WebKit as Debian has them. `npm run every` runs the rest of the suite in all of them; what an engine cannot do
// stands in README.md.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { Chromium } from "./chromium.mjs";
import { Firefox } from "./firefox.mjs";
import { CARD, until } from "./harness.mjs";
import { CHALLENGED, Mock, savedCard } from "./mock-server.mjs";
import { WebKit } from "./webkit.mjs";

const DECLINED = "4000000000000002";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Finders: they run in the browser. */
const cardFrame = () => document.querySelector("#pay").shadowRoot.querySelector(".body iframe");
const dialogFrame = () => document.querySelector("#pay").shadowRoot.querySelector("dialog iframe");
const bankFrame = () => document.querySelector("iframe");

let mock;
before(async () => (mock = await new Mock().start()));
after(() => mock.stop());

for (const Engine of [Chromium, Firefox, WebKit]) {
  describe(Engine.name, () => {
    let engine;
    before(async () => (engine = await Engine.launch()));
    after(() => engine?.close());

    /** A page of the shop with a drop-in whose form can be typed in. */
    async function open({ session = mock.session(), path = "/", locale} = {}) {
      await engine.open(`${mock.shopUrl}${path}`);
      await engine.run((id, locale) => {
        window.heard = [];
        window.dropin.init({ target: "#pay", id, ...(locale && { locale }), onReady: () => window.heard.push("ready"), onSuccess: () => window.heard.push("success"), onFailure: ({ errorCode }) => window.heard.push(errorCode) });
      }, session, locale);
      await until(() => inForm(() => document.querySelector("#code")?.hasAttribute("aria-describedby") ?? false), "the form");
      return session;
    }

    const inForm = (code, ...args) => engine.runIn([cardFrame], code, ...args).catch(() => undefined);
    const heard = () => engine.run(() => window.heard);
    const value = (name) => inForm((id) => document.getElementById(id).value, name);
    const clickField = (name) => engine.click([cardFrame], `() => document.getElementById("${name}")`);

    /** Types a whole card by keyboard alone, from its number on. */
    async function type({ number }) {
      await clickField("number");
      await engine.press(...number, "Tab", ...CARD.expiry, "Tab", ...CARD.code, "Tab", ...CARD.name);
    }

    test("the form is drawn to its height, masks what is typed, pays after a decline and tells the page once", async () => {
      const session = await open();
      const [frame, content] = [await engine.run(() => document.querySelector("#pay").shadowRoot.querySelector(".body iframe").getBoundingClientRect().height), await inForm(() => document.querySelector("#app").getBoundingClientRect().height)];
      assert.equal(frame, Math.ceil(content));
      await type({ number: DECLINED });
      assert.deepEqual([await value("number"), await value("expiry"), await value("name")], ["4000 0000 0000 0002", "12 / 30", CARD.name]);
      await engine.press("Enter");
      await until(() => inForm(() => document.querySelector(".notice:not([hidden]) p") !== null), "the decline to be told");
      assert.deepEqual([await value("number"), await value("code")], ["4000 0000 0000 0002", ""]);
      assert.deepEqual(await heard(), ["ready"]);
      await inForm(() => document.getElementById("number").select());
      await engine.press("Shift+Tab");
      await clickField("number");
      await inForm(() => document.getElementById("number").select());
      await engine.press(...CARD.number, "Tab", "Tab", ...CARD.code);
      await until(() => inForm(() => document.querySelector("form .pay").getAttribute("aria-disabled") === null), "the button");
      await engine.click([cardFrame], () => document.querySelector("form .pay"));
      await until(async () => (await heard()).includes("success"), "the payment");
      assert.deepEqual(await heard(), ["ready", "success"]);
      assert.equal(mock.entry(session).payments, 2, "one of them declined");
    });

    test("the caret stays where the shopper types in the middle of a number", async () => {
      await open();
      await clickField("number");
      await engine.press(..."42424242");
      await inForm(() => document.getElementById("number").setSelectionRange(4, 4));
      await engine.press("1");
      assert.equal(await value("number"), "4242 1424 2");
      assert.equal(await inForm(() => document.getElementById("number").selectionStart), 6);
    });

    test("the Tab key walks through the list and the form in order, and out again", async () => {
      await open({ session: mock.session({ others: true }) });
      await engine.run(() => {
        const first = Object.assign(document.createElement("button"), { id: "before", textContent: "Before" });
        document.querySelector("#pay").before(first);
        first.focus();
      });
      const at = async () => {
        const outer = await engine.run(() => document.querySelector("#pay").shadowRoot.activeElement?.id || document.querySelector("#pay").shadowRoot.activeElement?.localName || document.activeElement.id);
        return outer === "iframe" ? inForm(() => document.activeElement.id || document.activeElement.className) : outer;
      };
      // The focus goes into another process and comes back: a busy machine takes a moment for it.
      const arrives = (where) => until(async () => (await at()) === where, `the focus at ${where}`);
      for (const next of ["card", "number", "expiry", "code", "name", "pay", "paypal", "ideal"]) {
        await engine.press("Tab");
        await arrives(next);
      }
      for (const back of ["paypal", "pay", "name"]) {
        await engine.press("Shift+Tab");
        await arrives(back);
      }
    });

    test("Arabic runs from right to left, with digits from left to right, and nothing wider than a phone", async () => {
      await open({ locale: "ar_EG" });
      assert.equal(await engine.run(() => document.querySelector("#pay").shadowRoot.querySelector(".root").dir), "rtl");
      const seen = await inForm(() => {
        const [label, input] = [document.querySelector("label[for=number]"), document.getElementById("number")].map((element) => element.getBoundingClientRect());
        return { dir: document.documentElement.dir, digits: getComputedStyle(document.getElementById("number")).direction, right: Math.abs(label.right - input.right) < 3, fits: document.documentElement.scrollWidth <= innerWidth };
      });
      assert.deepEqual(seen, { dir: "rtl", digits: "ltr", right: true, fits: true });
    });

    test("a bank's check in the dialog pays, under the strictest policy", async () => {
      await open({ path: "/strict" });
      await type({ number: CHALLENGED });
      await engine.press("Enter");
      await until(() => engine.runIn([dialogFrame, bankFrame], () => document.querySelector("#confirm") !== null).catch(() => false), "the bank's page");
      await engine.click([dialogFrame, bankFrame], () => document.querySelector("#confirm"));
      await until(async () => (await heard()).includes("success"), "the payment");
      assert.deepEqual(await heard(), ["ready", "success"]);
    });

    /** Clicks in the form once nothing in it moves: an entry that is still opening takes its buttons away from the pointer. */
    async function clickStill(find) {
      await until(() => inForm(() => document.getAnimations().every(({ playState }) => playState !== "running")), "the form to be still");
      await engine.click([cardFrame], find);
    }

    /** The one submit of a Session. */
    const order = (session) => {
      const calls = mock.calls("POST", `${session}/submit`);
      assert.equal(calls.length, 1);
      return JSON.parse(calls[0].body);
    };
    const paid = () => until(async () => (await heard()).includes("success"), "the payment");
    const end = () => engine.run(() => document.querySelector("#pay").shadowRoot.querySelector(".end")?.innerText ?? "");

    test("a saved card pays with its code alone, and another is removed", async () => {
      const session = await open({ session: mock.session({ SavedCards: [savedCard("4242"), savedCard("0005", { PaymentMethod: "AMEX", Scheme: "AMEX" })] }) });
      const count = () => inForm(() => document.querySelectorAll(".accordion .entry.saved").length);
      await until(async () => (await count()) === 2, "both cards");
      await clickStill(() => document.querySelectorAll(".entry.saved .toggle")[1]);
      await clickStill(() => document.querySelectorAll(".entry.saved .begin")[1]);
      await clickStill(() => document.querySelectorAll(".entry.saved .yes")[1]);
      await until(async () => (await count()) === 1, "one card to be gone");
      await clickStill(() => document.querySelector(".entry.saved input"));
      await engine.press(...CARD.code, "Enter");
      await paid();
      assert.deepEqual([order(session).ContractId !== undefined, mock.entry(session).payments], [true, 1]);
    });

    test("a box that is ticked tells what the shopper agreed to", async () => {
      const session = await open({ session: mock.session({ AllowsContract: "UNSCHEDULED" }) });
      await type({ number: CARD.number });
      await engine.click([cardFrame], () => document.querySelector("#save"));
      assert.equal(await inForm(() => document.querySelector("#save").checked), true);
      await engine.click([cardFrame], () => document.querySelector("form .pay"));
      await paid();
      assert.match(order(session).Consent.TextVersion, /unscheduled/);
    });

    test("a postcode that cannot be one is told of, and the right one goes with the payment", async () => {
      const session = await open({ session: mock.session({ AddressFields: [{ Name: "Postcode", Pattern: "[A-Z0-9 ]{5,8}", Example: "SW1A 1AA" }] }) });
      await type({ number: CARD.number });
      await clickField("postcode");
      await engine.press(..."M1", "Enter");
      await until(() => inForm(() => !document.querySelector("#postcode-error").hidden), "the error");
      assert.equal(await inForm(() => document.activeElement.id), "postcode");
      await engine.press(..." 1AA", "Enter");
      await paid();
      assert.deepEqual(order(session).BillingAddress, { Postcode: "M1 1AA" });
    });

    test("a bank transfer shows what to put into it, and goes on when the shopper says so", async () => {
      await open({ session: mock.session({ others: true }) });
      const shell = (selector) => `() => document.querySelector("#pay").shadowRoot.querySelector("${selector}")`;
      await engine.click([], shell("#banktransfer"));
      // A panel that is still opening moves its button away from the pointer.
      await until(() => engine.run(() => {
        const root = document.querySelector("#pay").shadowRoot;
        const button = root.querySelector("#banktransfer-panel .pay");
        return button?.getAttribute("aria-disabled") === null && button.checkVisibility({ visibilityProperty: true }) && root.getAnimations().every(({ playState }) => playState !== "running");
      }), "the button");
      await engine.click([], shell("#banktransfer-panel .pay"));
      await paid();
      await until(() => engine.run(() => document.querySelector("#pay").shadowRoot.querySelectorAll(".end dl > div").length > 3), "the details");
      await engine.click([], shell(".end .pay"));
      await until(async () => /Fern & Fjord/.test(await end()), "the end");
    });

    test("what is wrong is said in German, beside its field and aloud", async () => {
      await open({ locale: "de_DE" });
      await clickField("number");
      await engine.press(..."4242424242424241", "Enter");
      const german = JSON.parse(readFileSync(new URL("../locales/de.json", import.meta.url), "utf8"));
      await until(() => inForm(() => !document.querySelector("#number-error").hidden), "the error");
      assert.deepEqual(await inForm(() => [document.querySelector("#number-error").innerText.trim(), document.querySelector("#live").textContent.trim()]), [german.numberInvalid, `${german.fixFields} ${german.numberInvalid}`]);
    });

    test("axe finds nothing in the list and in the form", async () => {
      await open({ session: mock.session({ others: true }) });
      const look = async (run) => {
        await run(`() => { ${axe} }`);
        return run(async () => (await window.axe.run(document, { iframes: false, resultTypes: ["violations"] })).violations.map(({ id, nodes }) => `${id} ${nodes[0].target}`));
      };
      assert.deepEqual(await look((code) => engine.run(code)), []);
      // A heading of the first level, and landmarks, are the page's around it.
      assert.deepEqual((await look((code) => engine.runIn([cardFrame], code))).filter((one) => !/^(?:page-has-heading-one|region|landmark-one-main)/.test(one)), []);
    });
  });
}
