// The drop-in on the merchant's page: what the page may forbid, see, style and do.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CARD, endPanel, fill, lacks, NARROWEST, openShop, until, useWorld, world } from "./harness.mjs";

useWorld();

/** Random ids hold any four digits now and then. */
const UUIDS = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

for (const [path, what] of [["/strict", "the strictest CSP with Trusted Types"], ["/isolated", "cross-origin isolation"], ["/fortress", "all of it at once, with a nonce and a pinned script"]]) {
  test(`a page under ${what} takes a payment without a complaint`, async () => {
    const shop = await openShop({ session: world.mock.session(), path });
    assert.equal(await shop.page.evaluate(() => crossOriginIsolated), path !== "/strict");
    await fill(shop);
    const height = await shop.page.locator("#pay iframe").evaluate((frame) => frame.getBoundingClientRect().height);
    const content = await shop.frame.locator("#app").evaluate((app) => app.getBoundingClientRect().height);
    assert.equal(height, Math.ceil(content), "styles and sizes are not lost to the CSP");
    await shop.button().click();
    await endPanel(shop, "done");
    assert.deepEqual(await shop.ends(), [["success"]]);
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  });
}

test("the page hears no message, sees no card data and cannot read the frame", async () => {
  const shop = await openShop({ session: world.mock.session({ slow: true }) });
  await fill(shop);
  await shop.button().click();
  await until(() => world.mock.entry(shop.session).payments === 1, "the payment");
  const secrets = [CARD.number, "4242 4242", CARD.name, "12 / 30", "1230"];
  const fromFrame = await shop.frameOf().evaluate(() => window.portMessages.join("\n"));
  assert.match(fromFrame, /"type":"ready"/);
  const seen = await shop.page.evaluate(() => {
    const root = document.querySelector("#pay").shadowRoot;
    const frame = root.querySelector("iframe");
    let inside = "nothing";
    try {
      inside = frame.contentWindow.document.body.innerText;
    } catch (error) {
      inside = error.name;
    }
    return {
      inside,
      document: frame.contentDocument,
      messages: window.windowMessages,
      page: document.documentElement.outerHTML + root.innerHTML + JSON.stringify({ ...localStorage, ...sessionStorage }) + window.portMessages.join("\n"),
    };
  });
  assert.equal(seen.document, null);
  assert.equal(seen.inside, "SecurityError");
  assert.deepEqual(seen.messages, []);
  for (const secret of secrets) {
    assert.ok(!fromFrame.includes(secret), `${secret} crossed to the shell`);
    assert.ok(!seen.page.includes(secret), `${secret} is on the page`);
    const elsewhere = world.mock.requests.filter(({ path, search, body }) => (path + search + body).replace(UUIDS, "").includes(secret) && !path.startsWith("/stash/"));
    assert.deepEqual(elsewhere, [], `${secret} went elsewhere than to the stash`);
  }
  assert.equal(await shop.frameOf().evaluate((pan) => JSON.stringify({ ...localStorage, ...sessionStorage }).includes(pan), CARD.number), false);
  world.mock.finish(shop.session);
  await endPanel(shop, "done");
  await shop.context.close();
});

test("hostile messages change nothing", async () => {
  const shop = await openShop({ session: world.mock.session() });
  await fill(shop);
  await shop.page.evaluate(() => {
    const frame = document.querySelector("#pay").shadowRoot.querySelector("iframe").contentWindow;
    const messages = [null, 7, "submit", { type: "submit" }, { type: "dropin-port", protocol: 2 }, { type: "done", title: "", text: "" }];
    for (let i = 0; i < 2000; i++) {
      const message = messages[i % messages.length];
      const { port1, port2 } = new MessageChannel();
      frame.postMessage(message, "*", [port2]);
      port1.postMessage({ type: "submit" });
      window.postMessage(message, "*");
    }
  });
  await shop.field("code").fill("321");
  assert.deepEqual(await shop.ends(), []);
  assert.equal(world.mock.calls("POST", `${shop.session}/submit`).length, 0);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(shop.session).payments, 1);
  await shop.context.close();
});

test("without our button the page's own pays; the total stays in sight", async () => {
  const shop = await openShop({ session: world.mock.session(), options: { hideSubmitButton: true } });
  assert.equal(await shop.button().isVisible(), false);
  assert.equal(await shop.frame.locator(".total").innerText(), "Total: $29.90");
  await shop.page.evaluate(() => window.instance.submitPayment());
  await until(async () => (await shop.frame.locator("[aria-invalid=true]").count()) === 4, "the errors of an empty form");
  await fill(shop);
  await until(async () => (await shop.heard()).length === 1, "the form to be complete");
  await shop.field("name").press("Enter");
  await shop.field("code").fill("1");
  await until(async () => (await shop.heard()).length === 2, "the form to be incomplete");
  await shop.field("code").fill("12");
  await shop.field("code").fill("123");
  await until(async () => (await shop.heard()).length === 3, "the form to be complete again");
  const posts = () => world.mock.requests.filter(({ method, path }) => method === "POST" && path.includes(world.mock.entry(shop.session).session.MerchantId));
  assert.equal(posts().length, 0, "Enter leaves the pressing to the page's button");
  await shop.page.evaluate(() => window.instance.submitPayment());
  await endPanel(shop, "done");
  assert.deepEqual((await shop.heard()).filter(([kind]) => kind === "enabled").map(([, state]) => state), [true, false, true, false]);
  await shop.context.close();
});

test("unselectPaymentMethod closes the card; opening it again finds what was typed", async () => {
  const shop = await openShop({ session: world.mock.session() });
  await fill(shop);
  await until(async () => (await shop.heard()).length === 1, "the form to be complete");
  await shop.page.evaluate(() => window.instance.unselectPaymentMethod());
  const toggle = shop.page.locator("#pay #card");
  await until(async () => (await toggle.getAttribute("aria-expanded")) === "false", "the panel to close");
  await until(async () => (await shop.heard()).length === 2, "the page to hear of it");
  await shop.page.evaluate(() => window.instance.submitPayment());
  await shop.field("number").waitFor({ state: "hidden" });
  assert.equal(world.mock.requests.filter(({ method, path }) => method === "POST" && path.includes(shop.session)).length, 0);
  await toggle.click();
  await shop.field("number").waitFor();
  assert.equal(await shop.field("number").inputValue(), "4242 4242 4242 4242");
  await until(async () => (await shop.heard()).at(-1)[1] === true, "the page to hear of it");
  await shop.page.evaluate(() => Promise.all(document.querySelector("#pay").shadowRoot.getAnimations().map((one) => one.finished.catch(() => undefined))));
  await shop.button().click();
  await endPanel(shop, "done");
  await shop.context.close();
});

test("a payment with nothing but the keyboard", async () => {
  const shop = await openShop({ session: world.mock.session() });
  const { keyboard } = shop.page;
  await keyboard.press("Tab");
  assert.equal(await shop.page.evaluate(() => document.querySelector("#pay").shadowRoot.activeElement?.id), "card");
  await keyboard.press("Enter");
  await until(async () => (await shop.page.locator("#pay #card").getAttribute("aria-expanded")) === "false", "Enter to close");
  await keyboard.press("Space");
  await until(async () => (await shop.page.locator("#pay #card").getAttribute("aria-expanded")) === "true", "Space to open");
  for (const text of [CARD.number, CARD.expiry, CARD.code, CARD.name]) {
    await keyboard.press("Tab");
    await keyboard.type(text);
  }
  await keyboard.press("Tab");
  assert.equal(await shop.button().evaluate((button) => button === document.activeElement), true);
  await keyboard.press("Shift+Tab");
  await keyboard.press("Enter");
  await endPanel(shop, "done");
  assert.equal(await shop.page.evaluate(() => document.querySelector("#pay").shadowRoot.activeElement?.className), "end done");
  await shop.context.close();
});

test("clicking a label goes to its field, and the fields ask for the right autofill", async () => {
  const shop = await openShop({ session: world.mock.session() });
  for (const [id, label, autocomplete] of [
    ["number", "Card number", "cc-number"], ["expiry", "Expiry date", "cc-exp"], ["code", "Security code", "cc-csc"], ["name", "Name on card", "cc-name"],
  ]) {
    await shop.frame.getByText(label, { exact: true }).click();
    assert.equal(await shop.frameOf().evaluate(() => document.activeElement.id), id);
    assert.equal(await shop.field(id).getAttribute("autocomplete"), autocomplete);
    assert.equal(await shop.field(id).getAttribute("inputmode"), id === "name" ? null : "numeric");
    // What the key below the right thumb says; the last field's pays.
    assert.equal(await shop.field(id).getAttribute("enterkeyhint"), id === "name" ? "go" : "next");
    assert.equal(await shop.field(id).evaluate((input) => input.form === document.forms[0]), true);
  }
  await shop.context.close();
});

test("the caret stays where the shopper edits, in a real field", async () => {
  const shop = await openShop({ session: world.mock.session() });
  const { keyboard } = shop.page;
  await shop.field("number").pressSequentially("4242424242424242");
  const caret = () => shop.field("number").evaluate((input) => [input.value, input.selectionStart]);
  await shop.field("number").evaluate((input) => input.setSelectionRange(7, 7));
  await keyboard.press("Backspace");
  assert.deepEqual(await caret(), ["4242 4424 2424 242", 6]);
  await keyboard.type("2");
  assert.deepEqual(await caret(), ["4242 4242 4242 4242", 7]);
  await shop.field("number").evaluate((input) => input.setSelectionRange(5, 5));
  await keyboard.press("Backspace");
  assert.deepEqual(await caret(), ["4244 2424 2424 242", 3], "a deleted gap takes its digit along");
  await shop.field("expiry").pressSequentially("430");
  assert.equal(await shop.field("expiry").inputValue(), "04 / 30");
  for (let i = 0; i < 3; i++) await keyboard.press("Backspace");
  assert.equal(await shop.field("expiry").inputValue(), "0");
  await shop.field("expiry").fill("");
  await shop.field("expiry").pressSequentially("1/30");
  assert.equal(await shop.field("expiry").inputValue(), "01 / 30");
  await shop.context.close();
});

test("the merchant's variables reach shell and frame; what could load something does not", async () => {
  const shop = await openShop({
    session: world.mock.session(),
    prepare: () => {
      const { style } = document.documentElement;
      const values = {
        "--color-primary": "rgb(11, 122, 92)", "--font-color": "#203040", "--input--border-radius": "3px", "--button--border-radius": "0",
        "--accordion--border-radius": "1px", "--input--border-top-width": "4px", "--color-content": "url(http://127.0.0.1:9/x)",
        "--input--background-color": "image-set(url(//x))", "--color-header": "burlywood", "--color-hover": "nonsense",
      };
      for (const [name, value] of Object.entries(values)) style.setProperty(name, value);
    },
  });
  const inFrame = (selector, property) => shop.frame.locator(selector).evaluate((element, name) => getComputedStyle(element)[name], property);
  const inShell = (selector, property) =>
    shop.page.locator(`#pay ${selector}`).evaluate((element, name) => getComputedStyle(element)[name], property);
  await until(async () => (await inFrame("form .pay", "backgroundColor")) === "rgb(11, 122, 92)", "the theme to arrive");
  assert.equal(await inFrame(".number label", "color"), "rgb(32, 48, 64)");
  assert.equal(await inFrame("#number", "borderRadius"), "3px");
  assert.equal(await inFrame("#number", "borderTopWidth"), "4px");
  assert.equal(await inFrame("#number", "borderBottomWidth"), "1px");
  assert.equal(await inFrame("#number", "backgroundColor"), "rgb(255, 255, 255)");
  assert.equal(await inFrame("form .pay", "borderRadius"), "0px");
  assert.equal(await inShell(".head", "backgroundColor"), "rgb(222, 184, 135)");
  assert.equal(await inShell(".entry", "backgroundColor"), "rgb(255, 255, 255)");
  assert.equal(await inShell(".entry", "borderRadius"), "1px");
  await shop.page.evaluate(() => document.documentElement.style.setProperty("--color-primary", "#ffe600"));
  await until(async () => (await inFrame("form .pay", "backgroundColor")) === "rgb(255, 230, 0)", "a later change to arrive");
  assert.equal(await inFrame("form .pay", "color"), "rgb(17, 21, 28)", "dark ink on a light button");
  await shop.context.close();
});

test("light and dark follow the container's color-scheme", async () => {
  for (const [colorScheme, declared, expected] of [["dark", "normal", "light"], ["light", "dark", "dark"], ["dark", "light dark", "dark"], ["light", "light dark", "light"]]) {
    const context = await world.browser.newContext({ colorScheme });
    const session = world.mock.session();
    const prepare = `document.body.style.colorScheme = ${JSON.stringify(declared)}`;
    const shop = await openShop({ session, context, prepare });
    await until(async () => (await shop.frameOf().evaluate(() => document.documentElement.dataset.scheme)) === expected, `${declared} to be ${expected}`);
    assert.equal(await shop.frameOf().evaluate(() => getComputedStyle(document.documentElement).colorScheme), expected);
    assert.equal(await shop.page.locator("#pay .root").getAttribute("data-scheme"), expected);
    await context.close();
  }
});

test("the frame is as high as its content at every width, and nothing overflows", async () => {
  const shop = await openShop({ session: world.mock.session({ Sandbox: true }), lang: "de" });
  await shop.button().click();
  for (const width of [1280, 768, 390, 320, NARROWEST]) {
    await shop.page.setViewportSize({ width, height: 800 });
    const fits = async () => {
      const frame = await shop.page.locator("#pay iframe").evaluate((element) => element.clientHeight);
      return frame === (await shop.frame.locator("#app").evaluate((app) => Math.ceil(app.getBoundingClientRect().height)));
    };
    await until(fits, `the frame to fit at ${width} px`);
    const overflow = await shop.frameOf().evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(overflow, 0, `${width} px`);
    assert.equal(await shop.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${width} px`);
  }
  await shop.context.close();
});

test("init draws at once, says what is wrong with its options, and keeps out of a target that is in use", async () => {
  const shop = await openShop({ session: world.mock.session() });
  const results = await shop.page.evaluate((id) => {
    const attempt = (options) => {
      try {
        window.dropin.init(options);
        return "fine";
      } catch (error) {
        return `${error.name}: ${error.message}`;
      }
    };
    const onSuccess = () => {};
    document.querySelector("main").insertAdjacentHTML("beforeend", `<div id="full"><p>Hello</p></div><div id="free"> </div>`);
    const drawn = (() => {
      window.dropin.init({ target: "#free", id, onSuccess });
      return document.querySelector("#free").shadowRoot.querySelector(".skeleton").getBoundingClientRect().height;
    })();
    return {
      drawn,
      nothing: attempt(undefined),
      id: attempt({ target: "#free", onSuccess }),
      callback: attempt({ target: "#free", id }),
      kind: attempt({ target: "#free", id, onSuccess, hideSubmitButton: "yes" }),
      selector: attempt({ target: "#(", id, onSuccess }),
      missing: attempt({ target: "#nowhere", id, onSuccess }),
      full: attempt({ target: "#full", id, onSuccess }),
      again: attempt({ target: "#free", id, onSuccess }),
      frames: document.querySelector("#free").shadowRoot.querySelectorAll("iframe").length,
    };
  }, shop.session);
  assert.ok(results.drawn > 200, "the skeleton is there in the same task");
  assert.match(results.nothing, /^TypeError: .*target must be a string/);
  assert.match(results.id, /^TypeError: .*id must be a string/);
  assert.match(results.callback, /^TypeError: .*onSuccess must be a function/);
  assert.match(results.kind, /^TypeError: .*hideSubmitButton must be a boolean/);
  assert.match(results.selector, /^TypeError: .*not a CSS selector/);
  assert.match(results.missing, /^TypeError: .*no element matches/);
  assert.match(results.full, /^TypeError: .*empty/);
  assert.equal(results.again, "fine");
  assert.equal(results.frames, 1);
  await shop.context.close();
});

test("an instance that was replaced is heard of no more; the new one pays", async () => {
  const session = world.mock.session();
  const shop = await openShop({ session });
  await fill(shop);
  await shop.page.evaluate((id) => {
    window.earlier = window.instance;
    window.second = [];
    window.instance = window.dropin.init({ target: "#pay", id, onSuccess: () => window.second.push("success") });
    window.earlier.submitPayment();
  }, session);
  await shop.field("number").waitFor();
  await until(async () => (await shop.field("number").inputValue()) === "", "the new form");
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(await shop.page.evaluate(() => window.second), ["success"]);
  assert.deepEqual(await shop.ends(), []);
  await shop.context.close();
});

test("an instance that was replaced while it loaded does not fail later", async () => {
  const session = world.mock.session();
  const context = await world.browser.newContext();
  await context.clock.install();
  const shop = await openShop({ session, context, wait: false });
  await shop.page.evaluate((id) => window.dropin.init({ target: "#pay", id, onSuccess: () => {} }), session);
  await shop.field("number").waitFor();
  await context.clock.fastForward(60_000);
  await fill(shop);
  assert.deepEqual(await shop.ends(), []);
  await context.close();
});

test("a callback that throws breaks nothing of ours", async () => {
  const shop = await openShop({ session: world.mock.session() });
  await shop.page.evaluate((id) => {
    window.instance = window.dropin.init({
      target: "#pay", id,
      onSuccess: () => {
        throw new Error("the page's own fault");
      },
    });
  }, shop.session);
  await until(async () => (await shop.page.locator("#pay .root.loading").count()) === 0, "the new form");
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  await until(() => shop.problems.some((problem) => problem.includes("the page's own fault")), "the page's error to be reported");
  await shop.context.close();
});

test("a frame moved in the page starts over and pays", async () => {
  const shop = await openShop({ session: world.mock.session() });
  await shop.page.evaluate(() => {
    const main = document.querySelector("main");
    main.append(document.querySelector("#pay"));
  });
  await until(async () => (await shop.page.locator("#pay .root.loading").count()) === 0, "the form");
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("a hundred mounts and unmounts leave nothing behind", lacks("census"), async () => {
  const shop = await openShop({ session: world.mock.session() });
  const client = await shop.context.newCDPSession(shop.page);
  const census = async () => {
    await client.send("HeapProfiler.collectGarbage");
    const { nodes, jsEventListeners } = await client.send("Memory.getDOMCounters");
    return { nodes, jsEventListeners, frames: shop.page.frames().length };
  };
  const cycle = (times) =>
    shop.page.evaluate(
      async ({ times, id }) => {
        for (let i = 0; i < times; i++) {
          const box = document.createElement("div");
          box.id = "passing";
          document.querySelector("main").append(box);
          window.dropin.init({ target: "#passing", id, onSuccess: () => {} });
          const frame = box.shadowRoot.querySelector("iframe");
          await new Promise((resolve) => frame.addEventListener("load", resolve));
          box.remove();
        }
        // The handshakes given up, and the size observers that notice the removal, come to their end.
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      },
      { times, id: shop.session },
    );
  await cycle(5);
  const before = await census();
  await cycle(100);
  let now = before;
  await until(async () => {
    now = await census();
    return now.frames === before.frames && now.jsEventListeners <= before.jsEventListeners + 5 && now.nodes <= before.nodes + 50;
  }, "listeners and nodes to be as few as before").catch((error) => assert.deepEqual(now, before, error.message));
  await shop.context.close();
});

test("no name that the build shortens is one of the browser's", async () => {
  const names = JSON.parse(readFileSync(new URL("../mangled.json", import.meta.url), "utf8"));
  const shop = await openShop({ session: world.mock.session() });
  const taken = await shop.page.evaluate((all) => {
    const used = [
      "EventTarget Node Element HTMLElement HTMLInputElement HTMLButtonElement HTMLFormElement HTMLIFrameElement HTMLDialogElement HTMLLinkElement HTMLScriptElement",
      "SVGElement ShadowRoot Document DocumentFragment Window Location Navigator Event UIEvent MouseEvent InputEvent KeyboardEvent MessageEvent PageTransitionEvent",
      "SecurityPolicyViolationEvent MessagePort MessageChannel URL URLSearchParams Response Headers AbortController AbortSignal CSSStyleDeclaration CSSStyleSheet",
      "MediaQueryList MutationObserver ResizeObserver Storage Crypto Clipboard Selection Performance DOMTokenList DOMStringMap DOMRect NodeList HTMLCollection",
      "Object Function Array String Number Boolean Symbol Map Set WeakMap Promise RegExp Date Error",
    ].join(" ").split(" ").map((name) => window[name]);
    const values = [...used, ...used.map((one) => one.prototype), window, document, history, CSS, JSON, Math, Reflect, Intl, ...Object.getOwnPropertyNames(Intl).map((name) => Intl[name]?.prototype ?? {})];
    const has = (value, name) => { for (let one = value; one; one = Object.getPrototypeOf(one)) if (Object.hasOwn(one, name)) return true; };
    return all.filter((name) => values.some((value) => has(value, name)));
  }, names);
  assert.deepEqual(taken, []);
  // Nor of a message, an option, the service or the catalogue.
  const ours = ["dropin.d.ts", "src/shared/protocol.ts", "src/payment/api.ts"].map((path) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8"));
  const wire = ours.flatMap((text) => [...text.replace(/export class Api[\s\S]*/, "").matchAll(/^\s+(?:readonly )?(\w+)\??:/gm)].map(([, name]) => name));
  assert.ok(wire.length > 60, `${wire.length} names`);
  assert.deepEqual(names.filter((name) => wire.includes(name)), []);
  await shop.context.close();
});
