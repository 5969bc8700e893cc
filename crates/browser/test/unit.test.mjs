// Pure parts, without a browser: masking under random edits, brands, validation, locales, protocol, budget.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync } from "node:zlib";
import { LACKS } from "./lacks.mjs";
import { load } from "./source.mjs";

const root = new URL("..", import.meta.url);

const [mask, brands, validate, locale, protocol, theme, address] = await Promise.all(
  ["payment/mask.ts", "payment/brands.ts", "payment/validate.ts", "shared/locale.ts", "shared/protocol.ts", "shared/theme.ts", "shared/address.ts"].map(load),
);

/** The published test numbers of the sandbox; no other number stands anywhere. */
const PUBLISHED = {
  VISA: "4242424242424242", MC: "5555555555554444", AMEX: "378282246310005", DISC: "6011111111111117", JCB: "3530111333300000", DINERS: "30569309025904",
};

function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const NUMBER = {
  max: (digits) => brands.brandOf(digits)?.lengths.at(-1) ?? 19,
  show: (digits) => mask.grouped(digits, brands.brandOf(digits)?.gaps ?? [4, 8, 12, 16]),
};

const SCRIPTS = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९", "０１２３４５６７８９"];

/** What a browser makes of one random edit of a text field: the raw text, where the caret is, what was selected and put in. */
function randomEdit(next, value) {
  const kind = ["insert", "insert", "insert", "insert", "backward", "forward"][next(6)];
  let [from, to] = [next(value.length + 1), next(value.length + 1)].sort((a, b) => a - b);
  if (next(3) > 0) from = to;
  let put = "";
  if (kind === "insert") {
    const length = next(6) === 0 ? next(24) : 1;
    for (let i = 0; i < length; i++) put += next(8) === 0 ? " -a/"[next(4)] : SCRIPTS[next(SCRIPTS.length)][next(10)];
  } else if (from === to) {
    if (kind === "backward") from = Math.max(0, from - 1);
    else to = Math.min(value.length, to + 1);
  }
  return { kind, from, to, put, raw: value.slice(0, from) + put + value.slice(to), caret: from + put.length };
}

const count = (text) => (text.match(/\d/g) ?? []).length;

test("any sequence of edits of a card number keeps the digits and the caret", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const next = random(seed);
    let [value, digits] = ["", ""];
    for (let step = 0; step < 60; step++) {
      const edit = randomEdit(next, value);
      const result = mask.applyEdit(NUMBER, digits, edit.raw, edit.caret, edit.kind);
      // The model works on digits alone.
      let before = digits.slice(0, count(value.slice(0, edit.from)));
      let after = digits.slice(count(value.slice(0, edit.to)));
      const put = mask.toDigits(edit.put);
      const about = JSON.stringify({ seed, step, value, edit, result });
      if (edit.kind === "insert") {
        const room = Math.max(0, NUMBER.max(before + put + after) - before.length - after.length);
        before += put.slice(0, room);
      } else if (before + after === digits && edit.from !== edit.to) {
        if (edit.kind === "backward") before = before.slice(0, -1);
        else after = after.slice(1);
      }
      if (edit.from === edit.to && edit.kind !== "insert") continue;
      assert.equal(result.digits, before + after, `digits: ${about}`);
      assert.equal(mask.toDigits(result.value), result.digits, `value: ${about}`);
      assert.equal(count(result.value.slice(0, result.caret)), before.length, `caret: ${about}`);
      assert.equal(result.value, NUMBER.show(result.digits), `grouping: ${about}`);
      [value, digits] = [result.value, result.digits];
    }
  }
});

test("any sequence of edits of an expiry date keeps the shown digits, the caret and the shape", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const next = random(seed);
    let [value, digits] = ["", ""];
    for (let step = 0; step < 60; step++) {
      const edit = randomEdit(next, value);
      if (edit.from === edit.to && edit.put === "") continue;
      const result = mask.applyEdit(mask.EXPIRY_MASK, digits, edit.raw, edit.caret, edit.kind);
      const about = JSON.stringify({ seed, step, value, edit, result });
      assert.equal(mask.toDigits(result.value), result.digits, about);
      assert.ok(result.caret >= 0 && result.caret <= result.value.length, about);
      assert.match(result.value, /^(?:[012]?|[01]\d(?: \/ \d{0,4})?|20\d{0,2}|20\d\d-\d{0,2})$/, about);
      const tail = digits.slice(count(value.slice(0, edit.to)));
      if (edit.kind === "insert") assert.ok(result.digits.endsWith(tail), `what follows the caret stays: ${about}`);
      [value, digits] = [result.value, result.digits];
    }
  }
});

test("an expiry date is understood however it is written", () => {
  const cases = { "4": "04 / ", "430": "04 / 30", "1230": "12 / 30", "12/2030": "12 / 2030", "1/30": "01 / 30", "1-30": "01 / 30", "12 / 30": "12 / 30", "١٢٣٠": "12 / 30",
    "2": "2", "2/30": "02 / 30", "230": "02 / 30", "2027-01": "2027-01", "2027/01": "2027-01", "202701": "2027-01", "٢٠٢٧-٠١": "2027-01" };
  for (const [typed, shown] of Object.entries(cases)) {
    assert.equal(mask.applyEdit(mask.EXPIRY_MASK, "", typed, typed.length, "insert").value, shown, typed);
  }
  assert.deepEqual(validate.expiryOf("1230"), { month: 12, year: 2030 });
  assert.deepEqual(validate.expiryOf("122030"), { month: 12, year: 2030 });
  assert.deepEqual(validate.expiryOf("202701"), { month: 1, year: 2027 });
  for (const part of ["2", "20", "2027", "20271", "202713", "202700"]) assert.equal(validate.expiryOf(part), null, part);
  // Typed one by one, as with any other form of a date.
  let held = { digits: "", value: "" };
  for (const key of "2027-01") held = mask.applyEdit(mask.EXPIRY_MASK, held.digits, held.value + key, held.value.length + 1, "insert");
  assert.equal(held.value, "2027-01");
});

test("a card is good to the end of its month, wherever the year turns", () => {
  const key = (digits, date) => validate.expiryProblem(digits, date)?.key ?? null;
  assert.equal(key("1126", new Date(2026, 10, 30, 23, 59)), null);
  assert.equal(key("1126", new Date(2026, 11, 1)), "expiryPast");
  assert.equal(key("1226", new Date(2027, 0, 1)), "expiryPast");
  assert.equal(key("0127", new Date(2026, 11, 31)), null);
  assert.equal(key("1299", new Date(2026, 0, 1)), "expiryFar");
  for (const [digits, expected] of [["", "expiryMissing"], ["1", "expiryShort"], ["13", "expiryMonth"], ["0030", "expiryMonth"], ["123", "expiryShort"], ["1220", "expiryPast"], ["12203", "expiryShort"], ["20", "expiryShort"], ["2027", "expiryShort"], ["202713", "expiryMonth"], ["202512", "expiryPast"]]) {
    assert.equal(key(digits, new Date(2026, 0, 1)), expected, digits);
  }
});

test("brands are known by the ends of their ranges, the longest prefix winning", () => {
  const cases = {
    4: "VISA", 51: "MC", 55: "MC", 2221: "MC", 2720: "MC", 2220: null, 2721: null, 34: "AMEX", 37: "AMEX", 35: null, 3528: "JCB", 3589: "JCB", 3590: null,
    6011: "DISC", 644: "DISC", 649: "DISC", 643: null, 65: "DISC", 300: "DINERS", 305: "DINERS", 306: null, 3095: "DINERS", 36: "DINERS", 39: "DINERS", 62: "UNIONPAY",
    81: "UNIONPAY", 5018: "MAESTRO", 57: "MAESTRO", 67: "MAESTRO", 401178: "ELO", 401180: "VISA", 506699: "ELO", 606282: "HIPERCARD", 2200: "MIR", 2205: null,
    508500: "RUPAY", 6521: "RUPAY", 9792: "TROY", 5019: "DANKORT", 9: null, "": null,
  };
  for (const [prefix, id] of Object.entries(cases)) assert.equal(brands.brandOf(prefix)?.id ?? null, id, prefix);
  for (const [id, number] of Object.entries(PUBLISHED)) assert.equal(brands.brandOf(number).id, id);
});

test("numbers: the published ones pass, and every slip of one digit is caught", () => {
  const accepted = Object.keys(PUBLISHED);
  for (const number of Object.values(PUBLISHED)) {
    assert.equal(validate.numberProblem(number, accepted), null, number);
    for (let i = 0; i < number.length; i++) {
      for (let digit = 0; digit < 10; digit++) {
        const slip = number.slice(0, i) + digit + number.slice(i + 1);
        if (slip !== number) assert.notEqual(validate.numberProblem(slip, accepted), null, `digit ${i} as ${digit}`);
      }
    }
  }
  assert.equal(validate.numberProblem("", accepted).key, "numberMissing");
  assert.equal(validate.numberProblem("424242", accepted).key, "numberShort");
  assert.deepEqual(validate.numberProblem(PUBLISHED.AMEX, ["VISA"]), { key: "numberNotAccepted", values: { brand: "American Express" } });
});

test("codes follow the brand; names are names", () => {
  const code = (value, length) => validate.codeProblem(value, length)?.key ?? null;
  assert.deepEqual([code("123", 3), code("1234", 3), code("1234", 4), code("123", 4), code("1234", undefined), code("", 3)], [null, "codeShort3", null, "codeShort4", null, "codeMissing"]);
  const name = (value) => validate.nameProblem(value)?.key ?? null;
  assert.deepEqual(
    [name("Ada Lovelace"), name("ليلى حسن"), name("Ludwig van B. 3rd"), name("  "), name(PUBLISHED.VISA), name("..."), name("x".repeat(101))],
    [null, null, null, "nameMissing", "nameNotName", "nameNotName", "nameLong"],
  );
});

test("addresses are derived from the script's own, with any prefix", () => {
  for (const good of ["https://bank.example/x", "http://127.0.0.1:8080/", "HTTPS://BANK.EXAMPLE"]) assert.equal(address.isWebAddress(good), true, good);
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "bankapp://pay", "//bank.example", "/pay", "https:", "https://", ""]) {
    assert.equal(address.isWebAddress(bad), false, bad);
  }
  for (const [script, base] of [
    ["http://127.0.0.1:8080/asset/v1/dropin.js", "http://127.0.0.1:8080/asset/v1/"],
    ["https://pay.example/v1/dropin.js?x=/v1/y", "https://pay.example/v1/"],
    ["https://pay.example/a/0123456789abcdef/dropin.js", "https://pay.example/a/v1/"],
  ]) assert.equal(address.baseOf(script).href, base);
});

test("the protocol drops what it does not know, and has no room for a card", () => {
  const good = { type: "done", title: "a", text: "b", details: [], paid: {} };
  assert.ok(protocol.isFrameMessage(good));
  for (const bad of [null, 1, "done", {}, { type: "done" }, { ...good, title: 1 }, { ...good, details: null }, { ...good, paid: 1 }, { type: "away", title: "a", text: "b", url: 1, challenge: true, now: true }, { type: "toString" }, { type: "__proto__" }, { type: "size", height: "9" }, { type: "ready", face: null }]) {
    assert.equal(protocol.isFrameMessage(bad), false, JSON.stringify(bad));
  }
  assert.ok(protocol.isShellMessage({ type: "submit" }));
  assert.equal(protocol.isShellMessage(good), false);
  assert.equal(protocol.isShellMessage({ type: "theme", theme: null }), false);
  assert.equal(protocol.isShellMessage({ type: "select", method: true }), false);
  assert.equal(protocol.isPortOffer({ type: "dropin-port", protocol: 1 }), false);
});

test("there are the 21 variables of docs/SPECIFICATION.md#drop-in-styles, and ink stands out on any colour", () => {
  assert.equal(theme.VARIABLES.length, 21);
  assert.equal(theme.inkOn("rgb(43, 74, 203)"), "#fff");
  assert.equal(theme.inkOn("rgba(255, 230, 0, 1)"), "#11151c");
  assert.equal(theme.inkOn("color(display-p3 1 1 0)"), "#fff");
});

/** The presets of appearance.css: what each sets, by its class. */
function presets() {
  const text = readFileSync(new URL("dist/appearance.css", root), "utf8");
  const blocks = [...text.matchAll(/:where\(\.(dropin-[a-z]+)\) \{([^}]*)\}/g)];
  const set = (block) => Object.fromEntries([...block.matchAll(/^ {2}([\w-]+): ([^;]+);$/gm)].map(([, name, value]) => [name, value]));
  return Object.fromEntries(blocks.map(([, name, block]) => [name, set(block)]));
}

const luminance = (color) => {
  const digits = color.slice(1).length === 3 ? [...color.slice(1)].map((one) => one + one) : color.slice(1).match(/../g);
  const [r, g, b] = digits.map((one) => parseInt(one, 16) / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);

test("each preset of the look sets all variables, and what it draws stands out", () => {
  const all = presets();
  assert.deepEqual(Object.keys(all), ["dropin-night", "dropin-flat", "dropin-rounded", "dropin-contrast"]);
  for (const [name, { "color-scheme": scheme, ...set }] of Object.entries(all)) {
    assert.deepEqual(Object.keys(set).sort(), [...theme.VARIABLES].sort(), name);
    const [text, line] = name === "dropin-contrast" ? [7, 7] : [4.5, 3];
    for (const surface of ["--color-header", "--color-content"]) {
      assert.ok(contrast(set["--font-color"], set[surface]) >= text, `${name}: text on ${surface}`);
      assert.ok(contrast(set["--color-primary"], set[surface]) >= text, `${name}: accents on ${surface}`);
      assert.ok(contrast(set["--input--border-color"], set[surface]) >= line, `${name}: borders of inputs on ${surface}`);
    }
    assert.ok(contrast(set["--input--font-color"], set["--input--background-color"]) >= text, `${name}: what is typed`);
    for (const button of ["--color-primary", "--color-hover"]) assert.ok(contrast(scheme === "dark" ? "#11151c" : "#fff", set[button]) >= text, `${name}: the button's text on ${button}`);
  }
});

/** What pages of merchants rely on (docs/INTEGRATION.md, "Versions of the drop-in"): nothing is ever taken from this list. */
const V1 = {
  DropinOptions: "target id onSuccess onContinue onReady onChange onMethodSelected onAttemptFailed onRedirect onFailure hideSubmitButton onSubmitEnabledChange locale headingLevel",
  DropinInstance: "submitPayment unselectPaymentMethod destroy",
  DropinResult: "state orderId method",
  DropinChange: "method complete",
  DropinSelection: "method",
  DropinAttempt: "errorCode attemptsLeft",
  DropinRedirect: "method",
  DropinError: "errorCode errorMessage",
  Dropin: "init base",
};

test("what /v1/ has stays", () => {
  const types = readFileSync(new URL("dropin.d.ts", root), "utf8");
  for (const [name, members] of Object.entries(V1)) {
    const [, body = ""] = new RegExp(`interface ${name} \\{(.*?)^\\}`, "ms").exec(types) ?? [];
    for (const member of members.split(" ")) assert.match(body, new RegExp(`^  (?:readonly )?${member}[?(:]`, "m"), `${name}.${member}`);
  }
  for (const name of ["night", "flat", "rounded", "contrast"]) assert.ok(`dropin-${name}` in presets(), name);
});

/** What each file weighs as it is sent to nearly everybody; the documents are written anew for each, and would be as small. */
const sizeOf = (path) => (path.endsWith(".html")
  ? brotliCompressSync(readFileSync(new URL(`dist/${path}`, root)), { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
  : readFileSync(new URL(`dist/${path}.br`, root))).length;
const sum = (paths) => paths.map(sizeOf).reduce((a, b) => a + b);

/** Most bytes of each line of the table in docs/PERFORMANCE.md. */
const MOST_BYTES = [15_000, 15_500, 2_000, 2_500, 2_000, 590, 3_500, 4_400];

test("up to a form that is ready in English all files weigh 15 kB at most; the documents tell what each part weighs", () => {
  const rows = readFileSync(new URL("../../docs/PERFORMANCE.md", root), "utf8").matchAll(/^\| ([^|]+) \| ((?:`[\w./]+` ?)+)\| ([\d,]+) \|$/gm);
  const table = [...rows].map(([, what, files, bytes]) => [what, [...files.matchAll(/`([^`]+)`/g)].map(([, path]) => path), Number(bytes.replace(",", ""))]);
  assert.equal(table.length, MOST_BYTES.length);
  for (const [index, [what, paths, told]] of table.entries()) {
    const bytes = sum(paths);
    assert.equal(told, bytes, `${what}: docs/PERFORMANCE.md`);
    assert.ok(bytes <= MOST_BYTES[index], `${what}: ${bytes} bytes of ${MOST_BYTES[index]}`);
    // A limit that is far above what there is holds nothing.
    assert.ok(bytes > MOST_BYTES[index] * 0.9, `${what}: ${bytes} bytes: lower the limit of ${MOST_BYTES[index]}`);
  }
  const listed = table.flatMap(([, paths]) => paths);
  const built = readdirSync(new URL("dist", root)).filter((name) => /\.(?:js|html)$/.test(name));
  assert.deepEqual([...listed.filter((path) => !path.includes("/"))].sort(), built.sort(), "every script and page is in the table");
});

test("what is sent compressed is the very file", () => {
  const files = readdirSync(new URL("dist", root), { recursive: true }).map(String);
  const compressed = files.filter((name) => /\.(br|gz)$/.test(name));
  assert.equal(compressed.length, 2 * files.filter((name) => /\.(js|ts|css|json|map)$/.test(name) && name !== "manifest.json").length);
  for (const name of compressed) {
    const [small, whole] = [name, name.replace(/\.(br|gz)$/, "")].map((one) => readFileSync(new URL(`dist/${one}`, root)));
    assert.ok((name.endsWith(".br") ? brotliDecompressSync(small) : gunzipSync(small)).equals(whole), name);
    assert.ok(small.length < whole.length, name);
  }
});

test("nothing in the bundle needs what a strict CSP forbids", () => {
  const scripts = ["dropin.js", "frame.js", "challenge.js", "wallet.js", "dialog.js", "saved.js", "fallback.js", "payment.js", "progress.js", "schemes.js", "postcode.js"].map((name) => readFileSync(new URL(`dist/${name}`, root), "utf8"));
  // The shell alone tells the page's developer what to mend, in one place.
  assert.deepEqual(scripts.map((script) => script.match(/console\.\w+\(/g) ?? []), [["console.error("], [], [], [], [], [], [], [], [], [], []]);
  for (const script of scripts) {
    for (const forbidden of [/innerHTML|outerHTML|insertAdjacentHTML|document\.write/, /\beval\s*\(|new Function/, /setAttribute\("style"/, /postMessage\([^)]*"\*"/]) {
      assert.doesNotMatch(script, forbidden);
    }
  }
  for (const page of ["frame.html", "challenge.html"]) {
    assert.doesNotMatch(readFileSync(new URL(`dist/${page}`, root), "utf8"), /style=|<style|\bon\w+=|<script>/);
  }
});

test("what an engine cannot do stands in README.md, and some test asks for it", () => {
  const readme = readFileSync(new URL("README.md", root), "utf8");
  const tests = readdirSync(new URL("test", root)).filter((name) => name.endsWith(".test.mjs")).map((name) => readFileSync(new URL(`test/${name}`, root), "utf8")).join("");
  for (const [name, [engines, why]] of Object.entries(LACKS)) {
    const row = readme.split("\n").find((line) => line.includes(why)) ?? "";
    const shown = { firefox: "Firefox", webkit: "WebKit" };
    assert.ok(row.startsWith(`| ${engines.map((engine) => shown[engine]).join(", ")} |`), `${name}: README.md has no row with: ${why}`);
    assert.ok(tests.includes(`"${name}"`), `no test asks for ${name}`);
  }
});
