// Dropin: frame.js. Built from crates/browser/src by `npm run build`; do not edit.
"use strict";
(() => {
  // locales:locales
  var TAGS = ["ar", "de", "en"];

  // src/shared/address.ts
  function baseOf(source) {
    const url = new URL(source);
    const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
    return new URL(folder ?? ".", url);
  }

  // src/shared/locale.ts
  var RENAMED = { no: "nb", nn: "nb", iw: "he", in: "id" };
  var TRADITIONAL = /* @__PURE__ */ new Set(["TW", "HK", "MO"]);
  var RIGHT_TO_LEFT = /* @__PURE__ */ new Set(["ar", "he"]);
  var SHAPE = /^([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|\d{3}))?(?:[-_.@]|$)/i;
  function candidates(language, script2, country) {
    const exact = country === void 0 ? [] : [`${language}-${country}`];
    if (language === "zh") {
      const traditional = script2 === "Hant" || script2 === void 0 && TRADITIONAL.has(country ?? "");
      return [traditional ? "zh-Hant" : "zh-Hans"];
    }
    if (language === "pt") return [...exact, "pt-PT", "pt"];
    return [...exact, language];
  }
  function resolveLocale(requests, files) {
    for (const request of requests) {
      const match = SHAPE.exec(request ?? "");
      if (match === null) continue;
      const spoken = (match[1] ?? "").toLowerCase();
      const language = RENAMED[spoken] ?? spoken;
      const script2 = match[2] && match[2].charAt(0).toUpperCase() + match[2].slice(1).toLowerCase();
      const country = match[3]?.toUpperCase();
      const file = candidates(language, script2, country).find((tag) => files.includes(tag));
      if (file === void 0) continue;
      const format = country === void 0 ? file : `${language}-${country}`;
      return { file, format, direction: RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr" };
    }
    return { file: "en", format: "en", direction: "ltr" };
  }

  // src/shared/strings.ts
  function say(strings, key, values = {}) {
    return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  }

  // src/shared/theme.ts
  var SIDES = ["top", "right", "bottom", "left"];
  function box(part) {
    const sides = SIDES.map((side) => [`--${part}--border-${side}-width`, "length"]);
    return [[`--${part}--border-color`, "color"], [`--${part}--border-radius`, "radius"], ...sides];
  }
  var COLORS = ["--color-primary", "--color-hover", "--color-content", "--color-app", "--color-header", "--font-color"];
  var VARIABLES = new Map([
    ...COLORS.map((name) => [name, "color"]),
    ...box("accordion"),
    ...box("input"),
    ["--input--font-color", "color"],
    ["--input--background-color", "color"],
    ["--button--border-radius", "radius"]
  ]);
  var PROPERTY = { color: "background-color", length: "border-top-width", radius: "border-top-left-radius" };
  var PLAIN = /^[#\w\s.,%()/+-]{1,64}$/;
  var REACHING_OUT = /(?:url|image|image-set|var|env|attr|expression)\s*\(/i;
  var FONTS = /^[\p{L}\d\s,"'-]{1,200}$/u;
  var UNCHOSEN_FONT = /^"?(?:times(?: new roman)?|serif|initial|inherit)"?$/i;
  function isSafeValue(name, value) {
    const kind = VARIABLES.get(name);
    if (kind === void 0 || !PLAIN.test(value) || REACHING_OUT.test(value)) return false;
    return CSS.supports(PROPERTY[kind], value);
  }
  function isSafeFont(value) {
    return FONTS.test(value) && !UNCHOSEN_FONT.test(value.trim());
  }
  function applyTheme(element, theme) {
    for (const name of VARIABLES.keys()) {
      const value = (theme.variables[name] ?? "").trim();
      element.style.setProperty(name, isSafeValue(name, value) ? value : "initial");
    }
    if (isSafeFont(theme.font)) element.style.setProperty("--d-font", `${theme.font}, system-ui, sans-serif`);
    else element.style.removeProperty("--d-font");
    element.dataset["scheme"] = theme.scheme;
  }
  function inkOn(background) {
    const channels = background.match(/[\d.]+/g)?.slice(0, 3).map(Number);
    if (!background.startsWith("rgb") || channels === void 0 || channels.length < 3) return "#fff";
    const [r = 0, g = 0, b = 0] = channels.map((c) => c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    const [white, dark] = [1.05 / (luminance + 0.05), (luminance + 0.05) / 0.0566];
    return white >= dark ? "#fff" : "#11151c";
  }

  // src/frame/api.ts
  var STATES = ["CREATED", "PROCESSING", "REDIRECTED", "COMPLETED", "CANCELLED", "FAILED"];
  var members = (value) => typeof value === "object" && value !== null ? value : {};
  var isState = (value) => typeof value === "string" && STATES.includes(value);
  var isProgress = (body) => isState(body["State"]);
  var isStashed = (body) => Array.isArray(body["Warnings"]);
  function isView(body) {
    const lists = [body["MerchantOrigins"], body["PaymentMethods"]];
    const numbers = [body["Version"], body["TotalAmount"], body["MinorUnits"]];
    return isState(body["State"]) && lists.every(Array.isArray) && numbers.every(Number.isFinite);
  }
  function pause(ms, signal) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
  async function persist(call, pauses, signal) {
    let answer = await call();
    for (const ms of pauses) {
      if (answer.kind !== "unreachable" || signal.aborted) break;
      await pause(ms, signal);
      if (!signal.aborted) answer = await call();
    }
    return answer;
  }
  var Api = class {
    constructor(base, sessionId) {
      this.base = base;
      this.session = `shopper/session/${encodeURIComponent(sessionId)}`;
    }
    base;
    session;
    /** The texts of one locale file. */
    strings(tag, signal) {
      return this.call(`locales/${tag}.json`, { cache: "default" }, 8, signal, (body) => typeof body["pay"] === "string");
    }
    view(signal) {
      return this.call(this.session, {}, 8, signal, isView);
    }
    progress(waitSeconds, signal) {
      return this.call(`${this.session}/progress?wait=${waitSeconds}`, {}, waitSeconds + 10, signal, isProgress);
    }
    /** Survives the page: once sent, a closed tab does not take it back. */
    submit(order, signal) {
      const headers = { "Content-Type": "application/json" };
      const request = { method: "POST", headers, body: JSON.stringify(order), keepalive: true };
      return this.call(`${this.session}/submit`, request, 30, signal, isProgress);
    }
    /** The one way card data leaves the frame. */
    stash(view, stashId, fingerprint, card, signal) {
      const address = `${view.StashUrl}/${encodeURIComponent(view.MerchantId)}/${encodeURIComponent(stashId)}`;
      const body = new URLSearchParams({ DeviceFingerprint: fingerprint, card: JSON.stringify(card) });
      return this.call(address, { method: "POST", body }, 15, signal, isStashed);
    }
    async call(path, request, seconds, signal, isExpected) {
      const limit = new AbortController();
      const stop = () => limit.abort();
      const timer = setTimeout(stop, seconds * 1e3);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      try {
        const response = await fetch(new URL(path, this.base), { cache: "no-store", credentials: "omit", ...request, signal: limit.signal });
        if (response.status === 429 || response.status >= 500) return { kind: "unreachable" };
        const body = members(await response.json());
        if (!response.ok) return refusal(response.status, body);
        return isExpected(body) ? { kind: "ok", body } : { kind: "unreachable" };
      } catch {
        return { kind: "unreachable" };
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
      }
    }
  };
  function refusal(status, body) {
    const errors = Array.isArray(body["FieldErrors"]) ? body["FieldErrors"] : [];
    const fields = errors.map((error) => String(members(error)["Field"]));
    return { kind: "refused", status, code: String(body["Code"] ?? ""), message: String(body["Message"] ?? ""), fields };
  }

  // src/frame/brands.ts
  var FOURS = [4, 8, 12, 16];
  var AS_PRINTED_ON_15 = [4, 10];
  function brand(id, name, mark, lengths, gaps = FOURS, codeLength = 3) {
    return { id, name, mark, lengths, gaps, codeLength };
  }
  function between(low, high) {
    return Array.from({ length: high - low + 1 }, (_, i) => low + i);
  }
  var VISA = brand("VISA", "Visa", "VISA", [13, 16, 18, 19]);
  var MC = brand("MC", "Mastercard", "MC", [16]);
  var AMEX = brand("AMEX", "American Express", "AMEX", [15], AS_PRINTED_ON_15, 4);
  var DISC = brand("DISC", "Discover", "DISC", between(16, 19));
  var JCB = brand("JCB", "JCB", "JCB", between(16, 19));
  var DINERS = brand("DINERS", "Diners Club", "DC", between(14, 19), AS_PRINTED_ON_15);
  var UNIONPAY = brand("UNIONPAY", "UnionPay", "UP", between(14, 19));
  var MAESTRO = brand("MAESTRO", "Maestro", "MAES", between(12, 19));
  var ELO = brand("ELO", "Elo", "ELO", [16]);
  var HIPERCARD = brand("HIPERCARD", "Hipercard", "HIPER", [16]);
  var MIR = brand("MIR", "Mir", "MIR", between(16, 19));
  var RUPAY = brand("RUPAY", "RuPay", "RUPAY", [16]);
  var TROY = brand("TROY", "Troy", "TROY", [16]);
  var DANKORT = brand("DANKORT", "Dankort", "DK", [16]);
  var RANGES = [
    [VISA, "4", "4"],
    [MC, "51", "55"],
    [MC, "2221", "2720"],
    [AMEX, "34", "34"],
    [AMEX, "37", "37"],
    [DISC, "6011", "6011"],
    [DISC, "644", "649"],
    [DISC, "65", "65"],
    [JCB, "3528", "3589"],
    [DINERS, "300", "305"],
    [DINERS, "3095", "3095"],
    [DINERS, "36", "36"],
    [DINERS, "38", "39"],
    [UNIONPAY, "62", "62"],
    [UNIONPAY, "81", "81"],
    [MAESTRO, "5018", "5018"],
    [MAESTRO, "5020", "5020"],
    [MAESTRO, "5038", "5038"],
    [MAESTRO, "56", "58"],
    [MAESTRO, "6304", "6304"],
    [MAESTRO, "67", "67"],
    [ELO, "401178", "401179"],
    [ELO, "438935", "438935"],
    [ELO, "506699", "506778"],
    [ELO, "509000", "509999"],
    [ELO, "636368", "636368"],
    [HIPERCARD, "606282", "606282"],
    [MIR, "2200", "2204"],
    [RUPAY, "508500", "508999"],
    [RUPAY, "6521", "6522"],
    [RUPAY, "60698", "60699"],
    [TROY, "9792", "9792"],
    [DANKORT, "5019", "5019"]
  ];
  function brandOf(digits) {
    let best = null;
    let longest = 0;
    for (const [candidate, low, high] of RANGES) {
      const head = digits.slice(0, low.length);
      if (low.length <= longest || head.length < low.length || head < low || head > high) continue;
      best = candidate;
      longest = low.length;
    }
    return best;
  }
  function markOf(id, name) {
    return RANGES.find(([candidate]) => candidate.id === id)?.[0].mark ?? name;
  }

  // src/shared/dom.ts
  var SVG = "http://www.w3.org/2000/svg";
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (typeof value === "string") element.setAttribute(name, value);
    }
    for (const child of children) if (child !== null) element.append(child);
    return element;
  }
  function h(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
  }
  function icon(name, ...paths) {
    const drawn = paths.map((d) => fill(document.createElementNS(SVG, "path"), { d }, []));
    const box2 = { class: `icon ${name}`, viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" };
    return fill(document.createElementNS(SVG, "svg"), box2, drawn);
  }
  var ICONS = {
    card: ["M3 7.5A2.5 2.5 0 0 1 5.5 5h13A2.5 2.5 0 0 1 21 7.5v9a2.5 2.5 0 0 1-2.5 2.5h-13A2.5 2.5 0 0 1 3 16.5z", "M3 10h18", "M7 15h3"],
    chevron: ["m7 10 5 5 5-5"],
    lock: ["M7 11V8a5 5 0 0 1 10 0v3", "M6.5 11h11a1.5 1.5 0 0 1 1.5 1.5v6a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 5 18.5v-6A1.5 1.5 0 0 1 6.5 11z"],
    warning: ["M12 8v5", "M12 16.5v.01", "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z"],
    check: ["m6.5 12.5 4 4 7.5-9"],
    cross: ["m8 8 8 8", "m16 8-8 8"]
  };

  // src/frame/mask.ts
  var ZEROS = [48, 1632, 1776, 2406, 65296];
  function toDigits(text2) {
    let digits = "";
    for (const character of text2) {
      const code = character.codePointAt(0) ?? 0;
      const zero = ZEROS.find((start2) => code >= start2 && code <= start2 + 9);
      if (zero !== void 0) digits += String(code - zero);
    }
    return digits;
  }
  function commonLength(a, b) {
    let n = 0;
    while (n < a.length && n < b.length && a[n] === b[n]) n++;
    return n;
  }
  function caretAfter(value, digitsBefore) {
    let seen = 0;
    let at = 0;
    while (seen < digitsBefore && at < value.length) if (/\d/.test(value[at++] ?? "")) seen++;
    return at;
  }
  function applyEdit(mask, held, raw, rawCaret, kind) {
    const due = kind === "insert" ? mask.shortGroup?.(raw) ?? -1 : -1;
    const text2 = due < 0 ? raw : `${raw.slice(0, due)}0${raw.slice(due)}`;
    const caret = due >= 0 && rawCaret > due ? rawCaret + 1 : rawCaret;
    let before = toDigits(text2.slice(0, caret));
    let after = toDigits(text2.slice(caret));
    if (kind === "insert") {
      const kept2 = commonLength(held.slice(0, Math.max(0, held.length - after.length)), before);
      const zero = kept2 === 0 && before !== "" ? mask.lead?.(before) ?? "" : "";
      const inserted = zero + before.slice(kept2);
      const room = mask.most(before.slice(0, kept2) + inserted + after) - kept2 - after.length;
      before = before.slice(0, kept2) + inserted.slice(0, Math.max(0, room));
    } else if (before + after === held) {
      if (kind === "backward") before = before.slice(0, -1);
      else after = after.slice(1);
    }
    if (before === "") after = (mask.lead?.(after) ?? "") + after;
    const digits = before + after;
    const value = mask.show(digits, kind === "insert");
    const atEnd = after === "" && kind === "insert";
    return { digits, value, caret: atEnd ? value.length : caretAfter(value, before.length) };
  }
  function grouped(digits, gaps) {
    let value = "";
    for (let i = 0; i < digits.length; i++) value += (gaps.includes(i) ? " " : "") + digits[i];
    return value;
  }
  var EXPIRY_MASK = {
    // Two digits of the year, or four when they start with 20.
    most: (digits) => digits.slice(2, 4) === "20" ? 6 : 4,
    show: (digits, inserting) => {
      if (digits.length < 2 || digits.length === 2 && !inserting) return digits;
      return `${digits.slice(0, 2)} / ${digits.slice(2)}`;
    },
    lead: (digits) => /^[2-9]/.test(digits) ? "0" : "",
    shortGroup: (raw) => {
      const match = /^(\D*)\d\s*[/.-]/.exec(raw);
      return match === null ? -1 : (match[1] ?? "").length;
    }
  };

  // src/frame/field.ts
  var Field = class {
    constructor(setup, strings, changed, complained) {
      this.setup = setup;
      this.strings = strings;
      this.changed = changed;
      this.complained = complained;
      const { id, mask, autocomplete } = setup;
      const forDigits = mask ? { inputmode: "numeric", dir: "ltr" } : { dir: "auto", autocapitalize: "words" };
      const quiet = { autocorrect: "off", spellcheck: "false", enterkeyhint: "next" };
      this.hint.id = `${id}-hint`;
      this.error = h("p", { class: "error", id: `${id}-error`, hidden: true }, icon("warning", ...ICONS.warning), this.errorText);
      const placeholder = setup.placeholder ?? null;
      this.input = h("input", { id, name: id, type: "text", autocomplete, placeholder, "aria-required": "true", ...forDigits, ...quiet });
      this.box = h("div", { class: "box" }, this.input);
      const label = h("label", { for: id }, say(strings, id));
      this.element = h("div", { class: `field ${id}` }, label, this.box, h("div", { class: "under" }, this.hint, this.error));
      this.listen();
    }
    setup;
    strings;
    changed;
    complained;
    element;
    input;
    /** Where a brand mark may stand. */
    box;
    hint = h("p", { class: "hint" });
    error;
    errorText = h("span");
    digits = "";
    kind = "insert";
    refused = null;
    /** Digits of a masked field, the text of any other. */
    get value() {
      return this.setup.mask ? this.digits : this.input.value;
    }
    get problem() {
      return this.refused ?? this.setup.problem(this.value);
    }
    setHint(text2) {
      if (this.hint.textContent !== text2) this.hint.textContent = text2;
      this.describe();
    }
    /** Shows what is wrong, if anything, and returns the text. */
    show(problem) {
      const text2 = problem && say(this.strings, problem.key, problem.values);
      this.errorText.textContent = text2 ?? "";
      this.error.hidden = text2 === null;
      this.hint.hidden = text2 !== null;
      if (text2 === null) this.input.removeAttribute("aria-invalid");
      else this.input.setAttribute("aria-invalid", "true");
      this.describe();
      return text2;
    }
    /** Marks the present value as refused by the service; the next edit lifts it. */
    refuse(problem) {
      this.refused = problem;
      this.show(problem);
    }
    clear() {
      this.input.value = "";
      this.digits = "";
      this.refused = null;
      this.show(null);
    }
    describe() {
      const shown = !this.error.hidden ? this.error.id : this.hint.textContent ? this.hint.id : null;
      if (shown === null) this.input.removeAttribute("aria-describedby");
      else this.input.setAttribute("aria-describedby", shown);
    }
    listen() {
      const { input } = this;
      input.addEventListener("beforeinput", (event) => {
        const deletes = event.inputType.startsWith("delete");
        this.kind = !deletes ? "insert" : event.inputType.includes("Forward") ? "forward" : "backward";
      });
      input.addEventListener("input", (event) => {
        if (!event.isComposing) this.edited();
      });
      input.addEventListener("compositionend", () => this.edited());
      input.addEventListener("blur", () => {
        if (this.setup.mask && toDigits(input.value) !== this.digits) this.edited();
        if (input.value.trim() === "") return;
        const said = this.show(this.problem);
        if (said !== null) this.complained(said);
      });
    }
    edited() {
      const { input, setup } = this;
      this.refused = null;
      if (setup.mask) {
        const caret = input.selectionStart ?? input.value.length;
        const edit = applyEdit(setup.mask, this.digits, input.value, caret, this.kind);
        this.digits = edit.digits;
        if (input.value !== edit.value) input.value = edit.value;
        if (document.activeElement === input) input.setSelectionRange(edit.caret, edit.caret);
      }
      this.kind = "insert";
      if (!this.error.hidden) this.show(this.problem);
      this.changed(this);
    }
  };

  // src/frame/validate.ts
  var LONGEST_NUMBER = 19;
  var SHORTEST_NUMBER = 12;
  var YEARS_AHEAD = 25;
  var LONGEST_NAME = 100;
  function passesLuhn(digits) {
    let sum = 0;
    for (let i = 0; i < digits.length; i++) {
      const digit = Number(digits[digits.length - 1 - i]);
      const doubled = i % 2 === 1 ? digit * 2 : digit;
      sum += doubled > 9 ? doubled - 9 : doubled;
    }
    return digits !== "" && sum % 10 === 0;
  }
  function numberProblem(digits, accepted) {
    if (digits === "") return { key: "numberMissing" };
    const brand2 = brandOf(digits);
    if (brand2 !== null && !accepted.includes(brand2.id)) return { key: "numberNotAccepted", values: { brand: brand2.name } };
    const shortest = brand2?.lengths[0] ?? SHORTEST_NUMBER;
    if (digits.length < shortest) return { key: "numberShort" };
    const fits = brand2 === null ? digits.length <= LONGEST_NUMBER : brand2.lengths.includes(digits.length);
    return fits && passesLuhn(digits) ? null : { key: "numberInvalid" };
  }
  function expiryOf(digits) {
    const whole = digits.length === 4 || digits.length === 6 && digits.slice(2, 4) === "20";
    const month = Number(digits.slice(0, 2));
    if (!whole || month < 1 || month > 12) return null;
    return { month, year: digits.length === 4 ? 2e3 + Number(digits.slice(2)) : Number(digits.slice(2)) };
  }
  function expiryProblem(digits, today) {
    if (digits === "") return { key: "expiryMissing" };
    const month = Number(digits.slice(0, 2));
    if (digits.length >= 2 && (month < 1 || month > 12)) return { key: "expiryMonth" };
    const expiry = expiryOf(digits);
    if (expiry === null) return { key: "expiryShort" };
    const months = (expiry.year - today.getFullYear()) * 12 + expiry.month - (today.getMonth() + 1);
    if (months < 0) return { key: "expiryPast" };
    return months > YEARS_AHEAD * 12 ? { key: "expiryFar" } : null;
  }
  function codeProblem(code, number) {
    if (code === "") return { key: "codeMissing" };
    const length = brandOf(number)?.codeLength;
    const fits = length === void 0 ? code.length === 3 || code.length === 4 : code.length === length;
    return fits ? null : { key: length === 4 ? "codeShort4" : "codeShort3" };
  }
  function nameProblem(name) {
    const trimmed = name.trim();
    if (trimmed === "") return { key: "nameMissing" };
    const looksLikeNumber = (trimmed.match(new RegExp("\\p{Nd}", "gu")) ?? []).length >= 8;
    if (looksLikeNumber || !new RegExp("\\p{L}", "u").test(trimmed)) return { key: "nameNotName" };
    return trimmed.length > LONGEST_NAME ? { key: "nameLong" } : null;
  }

  // src/frame/card-form.ts
  var LONGEST_NUMBER2 = 19;
  var NUMBER_MASK = {
    most: (digits) => brandOf(digits)?.lengths.at(-1) ?? LONGEST_NUMBER2,
    show: (digits) => grouped(digits, brandOf(digits)?.gaps ?? [4, 8, 12, 16])
  };
  var CardForm = class {
    constructor(strings, accepted, events) {
      this.strings = strings;
      this.events = events;
      this.fields = this.buildFields(accepted);
      const { number, expiry, code, name } = this.fields;
      number.box.append(icon("blank-card", ...ICONS.card), this.mark);
      this.button = h("button", { type: "submit", class: "pay" }, icon("lock", ...ICONS.lock), h("span", { class: "spinner" }), this.buttonText);
      const pair = h("div", { class: "pair" }, expiry.element, code.element);
      const rows = [number.element, pair, name.element, this.notice, this.total, this.button];
      this.element = h("form", { novalidate: true, autocomplete: "on", "aria-label": say(strings, "frameTitle") }, ...rows);
      this.element.addEventListener("submit", (event) => {
        event.preventDefault();
        events.submitted();
      });
      this.numberChanged();
    }
    strings;
    events;
    element;
    fields;
    mark = h("span", { class: "mark" });
    notice = h("div", { class: "notice", hidden: true });
    button;
    buttonText = h("span");
    total = h("p", { class: "total", hidden: true });
    amount = "";
    busy = false;
    get valid() {
      return Object.values(this.fields).every((field) => field.problem === null);
    }
    /** The card when all fields are right; else shows every error, goes to the first and says what to do. */
    check() {
      const wrong = Object.values(this.fields).filter((field) => field.show(field.problem) !== null);
      const first = wrong[0];
      if (first === void 0) return this.read();
      this.complain(wrong);
      return null;
    }
    /** Shows what the service found wrong with the fields it names. */
    refuse(names) {
      const keys = { number: "numberInvalid", expiry: "expiryRefused", code: "codeRefused", name: "nameNotName" };
      for (const name of names) this.fields[name].refuse({ key: keys[name] });
      this.complain(names.map((name) => this.fields[name]));
      this.events.changed();
    }
    setAmount(amount) {
      this.amount = amount;
      this.total.textContent = say(this.strings, "total", { amount });
      this.label();
    }
    /** Without our button the shopper still sees what is about to be paid. */
    hideButton(hidden) {
      this.button.hidden = hidden;
      this.total.hidden = !hidden;
    }
    /** While a payment is under way nothing can be changed; focus stays where it is. */
    setBusy(busy) {
      this.busy = busy;
      for (const field of Object.values(this.fields)) field.input.readOnly = busy;
      this.element.setAttribute("aria-busy", String(busy));
      this.rest(busy);
      this.label();
    }
    /** A button at rest looks and says that it does nothing for now. */
    rest(resting) {
      if (resting) this.button.setAttribute("aria-disabled", "true");
      else this.button.removeAttribute("aria-disabled");
    }
    /** A message about the payment as a whole; null takes it away. */
    setNotice(text2) {
      this.notice.hidden = text2 === null;
      this.notice.replaceChildren(...text2 === null ? [] : [icon("warning", ...ICONS.warning), h("p", {}, text2)]);
    }
    /** Wipes everything typed. */
    clear() {
      for (const field of Object.values(this.fields)) field.clear();
      this.numberChanged();
      this.events.changed();
    }
    buildFields(accepted) {
      const { strings, events } = this;
      const changed = (field) => {
        if (field.input.id === "number") this.numberChanged();
        events.changed();
      };
      const make = (id, autocomplete, problem, mask, placeholder) => new Field({ id, autocomplete, problem, ...mask && { mask }, ...placeholder && { placeholder } }, strings, changed, events.announce);
      const codeMask = { most: () => brandOf(this.fields.number.value)?.codeLength ?? 4, show: (digits) => digits };
      const fields = {
        number: make("number", "cc-number", (value) => numberProblem(value, accepted), NUMBER_MASK),
        expiry: make("expiry", "cc-exp", (value) => expiryProblem(value, /* @__PURE__ */ new Date()), EXPIRY_MASK, say(strings, "expiryPlaceholder")),
        code: make("code", "cc-csc", (value) => codeProblem(value, this.fields.number.value), codeMask),
        name: make("name", "cc-name", nameProblem)
      };
      fields.name.input.setAttribute("enterkeyhint", "go");
      return fields;
    }
    numberChanged() {
      const brand2 = brandOf(this.fields.number.value);
      this.mark.textContent = brand2 === null ? "" : markOf(brand2.id, brand2.name);
      this.mark.dataset["brand"] = brand2?.id ?? "";
      this.fields.code.setHint(say(this.strings, brand2?.codeLength === 4 ? "codeHint4" : "codeHint3"));
      const code = this.fields.code;
      if (code.input.hasAttribute("aria-invalid")) code.show(code.problem);
    }
    complain(wrong) {
      const first = wrong[0];
      if (first === void 0) return;
      first.input.focus();
      const message = say(this.strings, first.problem?.key ?? "", first.problem?.values);
      this.events.announce(wrong.length > 1 ? `${say(this.strings, "fixFields")} ${message}` : message);
    }
    read() {
      const { number, expiry, code, name } = this.fields;
      const date = expiryOf(expiry.value);
      const Expiry = { Year: String(date?.year ?? ""), Month: String(date?.month ?? "").padStart(2, "0") };
      return { Name: name.value.trim(), Number: number.value, VerificationCode: code.value, Expiry };
    }
    label() {
      this.buttonText.textContent = say(this.strings, this.busy ? "paying" : "pay", { amount: this.amount });
    }
  };

  // src/frame/memory.ts
  var kept = /* @__PURE__ */ new Map();
  function read(area, key) {
    try {
      return area().getItem(key) ?? kept.get(key) ?? null;
    } catch {
      return kept.get(key) ?? null;
    }
  }
  function write(area, key, value) {
    if (value === null) kept.delete(key);
    else kept.set(key, value);
    try {
      if (value === null) area().removeItem(key);
      else area().setItem(key, value);
    } catch {
    }
  }
  var session = () => window.sessionStorage;
  var local = () => window.localStorage;
  function uuid() {
    if ("randomUUID" in crypto) return crypto.randomUUID();
    const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
    const hex = bytes.map((byte, i) => (i === 6 ? byte & 15 | 64 : i === 8 ? byte & 63 | 128 : byte).toString(16).padStart(2, "0"));
    return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }
  var attemptKey = (sessionId) => `dropin.attempt.${sessionId}`;
  function openAttempt(sessionId) {
    const attempt = read(session, attemptKey(sessionId)) ?? uuid();
    write(session, attemptKey(sessionId), attempt);
    return attempt;
  }
  function closeAttempt(sessionId) {
    write(session, attemptKey(sessionId), null);
  }
  function deviceFingerprint() {
    const device = read(local, "dropin.device") ?? uuid();
    write(local, "dropin.device", device);
    return device;
  }

  // src/frame/money.ts
  function formatAmount(amount, currency, minorUnits, locale) {
    const digits = { minimumFractionDigits: minorUnits, maximumFractionDigits: minorUnits };
    return new Intl.NumberFormat(locale, { style: "currency", currency, ...digits }).format(amount);
  }

  // src/frame/checkout.ts
  var PAUSES = [500, 1e3, 2e3];
  var LONG_PAUSE_MS = 4e3;
  var WAIT = 25;
  var PATIENCE_MS = 25e3;
  var BREATH_MS = 1e3;
  var REST_MS = 600;
  var WARNED = {
    CardNumberInvalid: "number",
    CardMonthInvalid: "expiry",
    CardVerificationCodeInvalid: "code"
  };
  var Checkout = class {
    constructor(api, sessionId, link, screen, strings, locale, view) {
      this.api = api;
      this.sessionId = sessionId;
      this.link = link;
      this.screen = screen;
      this.strings = strings;
      this.locale = locale;
      this.view = view;
    }
    api;
    sessionId;
    link;
    screen;
    strings;
    locale;
    view;
    phase = "paying";
    flow = new AbortController();
    patience;
    selected = true;
    resting = false;
    get form() {
      return this.screen.form;
    }
    /** Goes where the Session is: to the form, or after a payment that is already under way or over. */
    begin() {
      this.form.setAmount(this.amountOf(this.view));
      if (this.view.State === "CREATED") this.openForm();
      else void this.follow(this.newFlow(), null);
    }
    select(selected) {
      this.selected = selected;
      this.tellEnabled();
    }
    tellEnabled() {
      const enabled = this.phase === "form" && this.selected && !this.resting && this.form.valid;
      this.link.sendEnabled(enabled);
    }
    /** The press of the button, ours or the page's. Does nothing unless the form is open. */
    async pay() {
      if (this.phase !== "form" || !this.selected || this.resting) return;
      const card = this.form.check();
      if (card === null) return;
      const signal = this.newFlow();
      this.setBusy(true);
      this.form.setNotice(null);
      this.screen.announce(say(this.strings, "paying", { amount: this.amountOf(this.view) }));
      const AttemptId = openAttempt(this.sessionId);
      const order = { Version: this.view.Version, AttemptId, StashId: AttemptId, DeviceFingerprint: deviceFingerprint() };
      if (await this.stash(card, order, signal)) await this.follow(signal, order);
    }
    /** Looks at the Session again, as after the back button brought the page back; `notice` explains what changed. */
    async reload(notice) {
      if (this.phase === "over") return;
      const signal = this.newFlow();
      this.setBusy(true);
      let answer = await this.api.view(signal);
      for (let misses = 0; answer.kind === "unreachable"; misses++) {
        await pause(PAUSES[misses] ?? LONG_PAUSE_MS, signal);
        if (signal.aborted) return;
        answer = await this.api.view(signal);
      }
      if (signal.aborted) return;
      if (answer.kind === "refused") return this.fail(answer.code, answer.message);
      const before = this.view;
      this.view = answer.body;
      this.begin();
      if (this.phase !== "form" || notice === void 0) return;
      this.form.setNotice(notice(before, this.view));
      this.screen.announce(notice(before, this.view));
      this.rest();
    }
    /** Puts the card into the stash; false when the form is open again and says why. */
    async stash(card, order, signal) {
      const send = () => this.api.stash(this.view, order.StashId, order.DeviceFingerprint, card, signal);
      const answer = await persist(send, PAUSES, signal);
      if (signal.aborted) return false;
      if (answer.kind === "ok" && answer.body.Warnings.length === 0) return true;
      closeAttempt(this.sessionId);
      const names = answer.kind === "ok" ? answer.body.Warnings.flatMap((warning) => WARNED[warning] ?? []) : [];
      this.openForm(names.length > 0 ? void 0 : say(this.strings, answer.kind === "unreachable" ? "notSent" : "retype"));
      if (names.length > 0) this.form.refuse(names);
      return false;
    }
    /** Submits `order` (when there is one) until it is answered, then follows the Session to its end. */
    async follow(signal, order) {
      let asking = order === null;
      let misses = 0;
      if (order === null) this.showProcessing();
      while (!signal.aborted) {
        const asked = Date.now();
        const sending = !asking && order !== null ? order : null;
        const answer = sending ? await this.api.submit(sending, signal) : await this.api.progress(WAIT, signal);
        if (signal.aborted) return;
        if (answer.kind === "unreachable") {
          if (sending && misses === PAUSES.length) asking = true, this.showChecking();
          await pause(PAUSES[misses] ?? LONG_PAUSE_MS, signal);
          misses = Math.min(misses + 1, PAUSES.length);
          continue;
        }
        misses = 0;
        if (answer.kind === "refused") {
          if (this.refused(answer, sending !== null)) return;
          [order, asking] = [null, true];
          this.showProcessing();
          continue;
        }
        if (this.arrived(answer.body, order)) return;
        asking = order === null || answer.body.State !== "CREATED";
        const early = Date.now() - asked < BREATH_MS;
        if (early && !(sending && asking)) await pause(BREATH_MS, signal);
      }
    }
    /** What a refusal means; false when there is another payment to follow instead. */
    refused(answer, submitting) {
      closeAttempt(this.sessionId);
      if (!submitting || answer.status === 404) {
        this.fail(answer.code, answer.message);
      } else if (answer.code === "SESSION_CHANGED") {
        void this.reload((before, now) => this.changeOf(before, now));
      } else if (answer.status === 409) {
        return false;
      } else {
        this.openForm(say(this.strings, "retype"));
      }
      return true;
    }
    /** Shows where the payment is; true when there is nothing left to follow. */
    arrived(progress, order) {
      switch (progress.State) {
        case "COMPLETED":
          this.end();
          this.link.send({ type: "done", title: say(this.strings, "doneTitle"), text: say(this.strings, "doneText", { merchant: this.view.MerchantName }) });
          return true;
        case "FAILED":
          this.fail(progress.ErrorCode ?? "PAYMENT_FAILED", progress.ErrorMessage);
          return true;
        case "CANCELLED":
          this.fail(progress.ErrorCode ?? "SESSION_CANCELLED", progress.ErrorMessage);
          return true;
        case "REDIRECTED":
          this.showRedirect(progress.RedirectUrl, order !== null);
          return false;
        case "CREATED":
          if (order === null) void this.reload();
          return order === null;
        case "PROCESSING":
          return false;
      }
    }
    openForm(notice) {
      clearTimeout(this.patience);
      this.phase = "form";
      this.setBusy(false);
      this.screen.showForm();
      this.form.setNotice(notice ?? null);
      if (notice !== void 0) this.screen.announce(notice);
    }
    setBusy(busy) {
      if (busy) this.phase = "paying";
      this.form.setBusy(busy);
      this.link.send({ type: "busy", busy });
      this.tellEnabled();
    }
    rest() {
      this.resting = true;
      this.form.rest(true);
      this.tellEnabled();
      setTimeout(() => {
        this.resting = false;
        if (this.phase === "form") this.form.rest(false);
        this.tellEnabled();
      }, REST_MS);
    }
    showProcessing() {
      this.setBusy(true);
      this.screen.showStatus(say(this.strings, "processingTitle"), say(this.strings, "processingText"));
    }
    showChecking() {
      this.screen.showStatus(say(this.strings, "checkingTitle"), say(this.strings, "checkingText"));
    }
    /** To the method's own page. Only the tab that paid goes there by itself; any other offers the way. */
    showRedirect(url, own) {
      clearTimeout(this.patience);
      const go = () => this.link.send({ type: "redirect", url: url ?? "" });
      const way = url === void 0 ? void 0 : { label: say(this.strings, "redirectButton"), go };
      const first = this.screen.showStatus(say(this.strings, "redirectTitle"), say(this.strings, "redirectText"), way);
      if (first && own && url !== void 0) go();
    }
    fail(code, message = "") {
      this.end();
      const known = `failed.${code}` in this.strings ? code : "other";
      this.link.fail(code, message, say(this.strings, "failedTitle"), say(this.strings, `failed.${known}`));
    }
    end() {
      this.newFlow();
      clearTimeout(this.patience);
      this.phase = "over";
      closeAttempt(this.sessionId);
      this.form.clear();
      this.tellEnabled();
    }
    /** Gives up whatever was under way here (never the payment itself) and starts the clock of what comes next. */
    newFlow() {
      this.flow.abort();
      this.flow = new AbortController();
      clearTimeout(this.patience);
      this.patience = setTimeout(() => this.phase === "paying" && this.showChecking(), PATIENCE_MS);
      return this.flow.signal;
    }
    amountOf(view) {
      return formatAmount(view.TotalAmount, view.Currency, view.MinorUnits, this.locale);
    }
    changeOf(before, now) {
      const [was, amount] = [this.amountOf(before), this.amountOf(now)];
      return say(this.strings, was === amount ? "orderChanged" : "amountChanged", { was, amount });
    }
  };

  // src/shared/protocol.ts
  var PROTOCOL = 1;
  var text = (value) => typeof value === "string" && value.length <= 2048;
  var flag = (value) => typeof value === "boolean";
  var object = (value) => typeof value === "object" && value !== null;
  var SHELL_SHAPES = {
    setup: { hideSubmitButton: flag },
    theme: { theme: isTheme },
    select: { selected: flag },
    submit: {}
  };
  function isTheme(value) {
    const { variables, scheme, font } = Object(value);
    return object(variables) && Object.values(Object(variables)).every(text) && text(font) && (scheme === "light" || scheme === "dark");
  }
  function matches(value, shapes) {
    if (!object(value)) return false;
    const message = value;
    const type = message["type"];
    if (typeof type !== "string" || !Object.hasOwn(shapes, type)) return false;
    return Object.entries(shapes[type] ?? {}).every(([field, holds]) => holds(message[field]));
  }
  function isPortOffer(value) {
    return object(value) && value.type === "dropin-port" && value.protocol === PROTOCOL;
  }
  function isShellMessage(value) {
    return matches(value, SHELL_SHAPES);
  }

  // src/frame/link.ts
  function portOffer() {
    return new Promise((resolve) => {
      const listen = (event) => {
        const port = event.ports[0];
        if (window.parent === window || event.source !== window.parent || port === void 0 || !isPortOffer(event.data)) return;
        window.removeEventListener("message", listen);
        resolve({ origin: event.origin, port });
      };
      window.addEventListener("message", listen);
    });
  }
  var Link = class {
    constructor(port) {
      this.port = port;
    }
    port;
    enabled = false;
    listen(heard) {
      this.port.onmessage = (event) => {
        if (isShellMessage(event.data)) heard(event.data);
      };
    }
    send(message) {
      this.port.postMessage(message);
    }
    /** Tells only changes. */
    sendEnabled(enabled) {
      if (this.enabled === enabled) return;
      this.enabled = enabled;
      this.send({ type: "enabled", enabled });
    }
    /** The end, and why; an empty title leaves the words to the shell. */
    fail(code, message, title, text2) {
      const { lang, dir } = document.documentElement;
      this.send({ type: "fail", code, message: message || text2, title, text: text2, lang, dir });
    }
  };

  // src/frame/screen.ts
  var Screen = class {
    constructor(app, live, form) {
      this.app = app;
      this.live = live;
      this.form = form;
      this.status = h("section", { class: "status", hidden: true }, h("span", { class: "spinner" }), this.title, this.text, this.way);
      app.append(form.element, this.status);
    }
    app;
    live;
    form;
    title = h("h2");
    text = h("p");
    way = h("button", { type: "button", class: "pay", hidden: true });
    status;
    showForm() {
      this.form.element.hidden = false;
      this.status.hidden = true;
    }
    /** `way` is a button out of here, e.g. to the bank. False when this is what is shown already. */
    showStatus(title, text2, way) {
      if (!this.status.hidden && this.title.textContent === title) return false;
      this.form.element.hidden = true;
      this.status.hidden = false;
      this.title.textContent = title;
      this.text.textContent = text2;
      this.way.hidden = way === void 0;
      this.way.textContent = way?.label ?? "";
      this.way.onclick = way?.go ?? null;
      this.announce(`${title}. ${text2}`);
      return true;
    }
    /** Says `message` politely; the same message twice in a row is said twice. */
    announce(message) {
      this.live.textContent = this.live.textContent === message ? `${message} ` : message;
    }
    /** Calls back with the height of the content, now and whenever it changes. */
    watchHeight(tell) {
      let told = 0;
      const measure = () => {
        const height = Math.ceil(this.app.getBoundingClientRect().height);
        if (height > 0 && height !== told) tell(told = height);
      };
      measure();
      new ResizeObserver(measure).observe(this.app);
    }
  };

  // src/frame/frame.ts
  function byId(id) {
    const element = document.getElementById(id);
    if (element === null) throw new Error(`frame.html lacks #${id}`);
    return element;
  }
  function refuse(offer, strings, code, message) {
    const key = strings && `failed.${code}` in strings ? code : "other";
    const [title, text2] = strings ? [say(strings, "failedTitle"), say(strings, `failed.${key}`)] : ["", ""];
    new Link(offer.port).fail(code, message, title, text2);
  }
  function inkButtons(root) {
    const probe = document.createElement("i");
    root.append(probe);
    for (const name of ["primary", "hover"]) {
      probe.style.backgroundColor = `var(--d-${name})`;
      document.documentElement.style.setProperty(`--d-on-${name}`, inkOn(getComputedStyle(probe).backgroundColor));
    }
    probe.remove();
  }
  var isCard = (method) => method.Class === "Card";
  function faceOf(strings, locale, view, methods) {
    return {
      lang: locale.format,
      dir: locale.direction,
      card: say(strings, "card"),
      frameTitle: say(strings, "frameTitle"),
      accepted: say(strings, "acceptedCards", { names: methods.map((method) => method.Name).join(", ") }),
      marks: methods.map((method) => markOf(method.Id, method.Name)),
      testMode: view.Sandbox ? say(strings, "testMode") : ""
    };
  }
  function start(offer, api, sessionId, strings, view, locale) {
    const methods = view.PaymentMethods.filter(isCard);
    const app = byId("app");
    const link = new Link(offer.port);
    const form = new CardForm(strings, methods.map((method) => method.Id), {
      changed: () => checkout.tellEnabled(),
      submitted: () => void checkout.pay(),
      announce: (message) => screen.announce(message)
    });
    const screen = new Screen(app, byId("live"), form);
    const checkout = new Checkout(api, sessionId, link, screen, strings, locale.format, view);
    link.listen((message) => {
      if (message.type === "setup") form.hideButton(message.hideSubmitButton);
      else if (message.type === "theme") applyTheme(document.documentElement, message.theme), inkButtons(app);
      else if (message.type === "select") checkout.select(message.selected);
      else void checkout.pay();
    });
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) void checkout.reload();
    });
    link.send({ type: "ready", face: faceOf(strings, locale, view, methods) });
    checkout.begin();
    screen.watchHeight((height) => link.send({ type: "size", height }));
  }
  async function boot(script2) {
    const offered = portOffer();
    const query = new URLSearchParams(location.search);
    const sessionId = query.get("session") ?? "";
    const locale = resolveLocale([query.get("locale"), location.hash.slice(1), ...navigator.languages], TAGS);
    document.documentElement.lang = locale.format;
    document.documentElement.dir = locale.direction;
    const api = new Api(baseOf(script2), sessionId);
    const { signal } = new AbortController();
    const loads = [
      persist(() => api.strings(locale.file, signal), PAUSES, signal),
      persist(() => api.view(signal), PAUSES, signal)
    ];
    const [texts, view] = await Promise.all(loads);
    const offer = await offered;
    const strings = texts.kind === "ok" ? texts.body : null;
    if (view.kind === "refused") return refuse(offer, strings, view.code, view.message);
    if (view.kind === "unreachable" || strings === null) return refuse(offer, null, "SERVICE_UNAVAILABLE", "The payment service cannot be reached.");
    if (!view.body.MerchantOrigins.includes(offer.origin)) {
      const advice = `${offer.origin} is not among the origins of this Session's merchant. Register it, or open the shop from a registered one.`;
      return refuse(offer, strings, "ORIGIN_NOT_ALLOWED", advice);
    }
    document.title = say(strings, "frameTitle");
    if (!view.body.PaymentMethods.some(isCard)) return refuse(offer, strings, "NO_PAYMENT_METHOD", "This Session has no payment method for its country and currency.");
    start(offer, api, sessionId, strings, view.body, locale);
  }
  var script = document.currentScript;
  if (script instanceof HTMLScriptElement) void boot(script.src);
})();
