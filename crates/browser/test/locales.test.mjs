// The texts of all languages, as data: which request gets which, that each has them all, and what they weigh.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { pseudoLocales } from "../pseudo.mjs";
import { load } from "./source.mjs";

const root = new URL("..", import.meta.url);
const json = (path) => JSON.parse(readFileSync(new URL(path, root), "utf8"));

/** The list that the build goes by. */
const { tags, aliases, rightToLeft } = json("languages.json");
/** What the product promises (docs/SPECIFICATION.md#drop-in-languages). */
const PROMISED = 36;

const english = json("locales/en.json");
const placeholdersOf = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
const graphemes = (text) => [...new Intl.Segmenter("en").segment(text.replace(/\{\w+\}/g, ""))].length;

/** None of them is a number that decides a word's form: a text with one that is needs a form for each plural category. */
const PLACEHOLDERS = ["amount", "brand", "example", "expiry", "last4", "merchant", "name", "names", "number", "was"];

/** Texts that may read as in English: everywhere, or in languages that have the same word. */
const MAY_EQUAL = {
  bankIban: tags,
  card: ["ro"],
  expiryPlaceholder: tags,
  savedCard: tags,
};

/** No language needs more room than this, save for single words whose English is short. */
const MOST_LENGTH = 2.2;
const MAY_BE_LONGER = { bankIban: ["ar"], copy: ["ru"] };

/** Of each file as it is served, in bytes. */
const MOST_BYTES = 1_800;

const { resolveLocale } = await load("shared/locale.ts");
const money = await load("frame/money.ts");

test("the list names every promised language once, and nothing that there is no file for", () => {
  assert.equal(tags.length, PROMISED);
  assert.deepEqual(tags, [...new Set(tags)].sort(), "sorted, each once");
  assert.deepEqual(readdirSync(new URL("locales", root)).sort(), tags.map((tag) => `${tag}.json`).sort());
  for (const tag of tags) assert.equal(Intl.getCanonicalLocales(tag)[0], tag);
  for (const [alias, tag] of Object.entries(aliases)) assert.ok(tags.includes(tag) && !tags.includes(alias), `${alias}: ${tag}`);
  for (const tag of tags) {
    const { language, script } = new Intl.Locale(tag).maximize();
    assert.equal(rightToLeft.includes(tag), ["Arab", "Hebr"].includes(script), language);
  }
});

test("a request gets its language: exact, by its script or country, by an alias, without its country", () => {
  for (const [request, tag, format, direction] of json("test/locale-choices.json")) {
    // What nobody has texts for leaves the choice to the next request.
    const expected = tag === null ? { tag: "fi", format: "fi-FI", direction: "ltr" } : { tag, format, direction };
    assert.deepEqual(resolveLocale([request, "fi_FI"], tags), expected, request);
    assert.doesNotThrow(() => new Intl.NumberFormat(expected.format), request);
  }
});

test("the demo shop offers every language, by a locale that gets it", async () => {
  const { LOCALES } = await load("../../../bins/demo-shop/page/language.js");
  assert.deepEqual(Object.keys(LOCALES), tags);
  for (const [tag, locale] of Object.entries(LOCALES)) {
    assert.match(locale, /^[a-z]{2}_[A-Z]{2}$/);
    assert.equal(resolveLocale([locale], tags).tag, tag);
  }
});

test("the first request that there are texts for counts; English when there is none; a language of tests when it is named", () => {
  const chosen = (...requests) => resolveLocale(requests, [...tags, "en-XA", "en-XC"]).tag;
  assert.equal(chosen(null, "", "xx_YY", "tl-PH", "sv-FI", "de"), "sv");
  assert.equal(chosen(undefined, "xx", "<b>"), "en");
  assert.deepEqual([chosen("en_XA"), chosen("en-xc"), chosen("en"), chosen("en_AU"), chosen("xa")], ["en-XA", "en-XC", "en", "en", "en"]);
  assert.equal(resolveLocale(["en_XA"], tags).tag, "en");
});

/** What is wrong with a language's texts. */
function faultsOf(tag, texts) {
  const faults = [];
  if (Object.keys(texts).join() !== Object.keys(english).join()) {
    const differ = [...Object.keys(english).filter((key) => !(key in texts)), ...Object.keys(texts).filter((key) => !(key in english))];
    faults.push(`keys: ${differ.join(", ") || "in another order than in English"}`);
  }
  for (const [key, text] of Object.entries(texts)) {
    const original = english[key] ?? "";
    const fault = (what) => faults.push(`${key}: ${what}: ${JSON.stringify(text)}`);
    if (typeof text !== "string" || text.trim() === "") fault("empty");
    else {
      if (placeholdersOf(text).join() !== placeholdersOf(original).join()) fault("other placeholders than in English");
      if (text !== text.trim() || /\s\s/.test(text)) fault("blanks too many");
      // Not every button reads "Pay": that of iDEAL reads "Continue to iDEAL".
      if (["amountChanged", "orderChanged", "retype"].includes(key) && /press pay|زر الدفع/i.test(text)) fault("not every button reads so");
      if (/\.\.\.|…\./.test(text)) fault("an ellipsis is one character");
      if (text !== text.normalize("NFC")) fault("not in Unicode's normal form C");
      if (/[<>&\u0000-\u001f]/.test(text)) fault("no place for markup");
      if (tag !== "en" && text === original && !MAY_EQUAL[key]?.includes(tag)) fault("still English");
      const most = Math.ceil(graphemes(original) * MOST_LENGTH);
      if (graphemes(text) > most && !MAY_BE_LONGER[key]?.includes(tag)) fault(`${graphemes(text)} characters of ${most}`);
    }
  }
  return faults;
}

for (const tag of tags) {
  test(`${tag} has every text of English, with its placeholders, in words of its own and not too long`, () => {
    assert.deepEqual(faultsOf(tag, json(`locales/${tag}.json`)), []);
  });
}

test("the check of texts finds each fault", () => {
  const texts = json("locales/de.json");
  const faulty = (change) => faultsOf("de", { ...texts, ...change }).length;
  assert.equal(faulty({}), 0);
  for (const change of [
    { pay: english.pay }, { pay: "Zahlen" }, { pay: "{amount} {name} zahlen" }, { pay: " {amount} zahlen" }, { card: "" }, { card: "  " }, { paying: "{amount} wird gezahlt..." },
    { close: "Dieses Fenster jetzt schließen" }, { close: "Schlie\u00dfen u\u0308ber" }, { close: "<b>Zu</b>" }, { another1: "Mehr" }, { retype: "Check them, then press Pay again." },
  ]) {
    assert.ok(faulty(change) > 0, JSON.stringify(change));
  }
  const { card: _card, ...fewer } = texts;
  assert.equal(faultsOf("de", fewer).length, 1);
});

test("amounts are written as their language writes them; a sign of letters and a mark stays together from right to left", () => {
  const shown = (locale, Currency, MinorUnits = 2) => money.amountOf({ TotalAmount: 1234.5, Currency, MinorUnits }, locale).replace(/[\u00a0\u202f]/g, " ");
  assert.deepEqual(
    [["en-GB", "GBP"], ["de-AT", "EUR"], ["fr", "EUR"], ["hu", "HUF", 0], ["pt-BR", "BRL"], ["ja", "JPY", 0], ["en", "CAD"]].map((one) => shown(...one)),
    ["£1,234.50", "€ 1.234,50", "1 234,50 €", "1235 Ft", "R$ 1.234,50", "￥1,235", "CA$1,234.50"],
  );
  assert.match(shown("ar", "USD"), /US\$\u200e$/);
  assert.doesNotMatch(shown("he", "ILS"), /\u200e$/);
});

test("no text needs plural forms: no placeholder is a number that decides a word's form", () => {
  assert.deepEqual([...new Set(Object.values(english).flatMap(placeholdersOf))].sort(), PLACEHOLDERS);
});

test("every text is used somewhere", () => {
  const sources = readdirSync(new URL("src", root), { recursive: true }).map(String).filter((path) => path.endsWith(".ts")).map((path) => new URL(`src/${path}`, root));
  // The service's own pages speak with the same words.
  const pages = ["return_page.rs", "transfer.rs"].map((name) => new URL(`../../bins/checkout-api/src/${name}`, root));
  const source = [...sources, ...pages].map((path) => readFileSync(path, "utf8")).join("");
  for (const key of Object.keys(english)) {
    // Titles and texts go together, and are asked for by what they are about.
    const used = source.includes(`"${key}"`) || (/(Title|Text)$/.test(key) && source.includes(`"${key.replace(/(Title|Text)$/, "")}"`))
      || /^(?:failed|again|method|notLoaded)/.test(key) || /\.PAYLATER$/.test(key) || ["number", "expiry", "code", "name"].includes(key);
    assert.ok(used, `${key} is used nowhere`);
  }
});

test("the two files of a language have all its texts, save those that are not the form's to say", () => {
  for (const tag of [...tags, "en-XA", "en-XC"]) {
    const [form, outcomes] = [json(`dist/locales/${tag}.json`), json(`dist/outcomes/${tag}.json`)];
    const served = [...Object.keys(form), ...Object.keys(outcomes)];
    assert.deepEqual(served.sort(), Object.keys(english).filter((key) => !/^(?:notLoaded(?:Title|Text)|page(?:Title|Done))$/.test(key)).sort(), tag);
  }
});

test("each file of texts is small as it is served", () => {
  const sizes = tags.flatMap((tag) => ["locales", "outcomes"].map((part) => [`${part}/${tag}.json`, readFileSync(new URL(`dist/${part}/${tag}.json.br`, root)).length]));
  for (const [path, size] of sizes) assert.ok(size <= MOST_BYTES, `${path}: ${size} bytes of ${MOST_BYTES}`);
});

test("the languages of tests are half as long again, and have marks above and below; both keep their placeholders", () => {
  const { "en-XA": long, "en-XC": marked } = pseudoLocales(english);
  for (const [key, text] of Object.entries(english)) {
    assert.deepEqual(placeholdersOf(long[key]), placeholdersOf(text), key);
    assert.deepEqual(placeholdersOf(marked[key]), placeholdersOf(text), key);
    assert.ok(graphemes(long[key]) >= graphemes(text) * 1.5, `${key}: ${long[key]}`);
    assert.equal(graphemes(marked[key]), graphemes(text), key);
    assert.equal(marked[key].match(/\u0323/g)?.length ?? 0, text.replace(/\{\w+\}/g, "").match(/[a-z]/gi)?.length ?? 0, key);
  }
});
