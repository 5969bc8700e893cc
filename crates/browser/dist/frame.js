// Dropin: frame.js. Built from crates/browser/src by `npm run build`; do not edit.
(() => {
var TAGS = ["ar", "de", "en"];
function baseOf(source) {
	const url = new URL(source);
	const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
	return new URL(folder ?? ".", url);
}
var RENAMED = { no: "nb", iw: "he", in: "id" };
var TRADITIONAL = /Hant|TW|HK|MO/i;
var SHAPE = /^([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}))?\b/i;
function resolveLocale(requests, files) {
	for (const request of requests) {
		const match = SHAPE.exec(request ?? "");
		if (match === null) continue;
		const [whole, spoken = "", , land] = match;
		const language = RENAMED[spoken.toLowerCase()] ?? spoken.toLowerCase();
		const exact = land === void 0 ? language : `${language}-${land.toUpperCase()}`;
		const written = language === "zh" ? [TRADITIONAL.test(whole) ? "zh-Hant" : "zh-Hans"] : [exact, language, "pt-PT"];
		const file = written.find((tag) => tag.startsWith(language) && files.includes(tag));
		if (file === void 0) continue;
		return { file, format: land === void 0 ? file : exact, direction: /^(ar|he)/.test(file) ? "rtl" : "ltr" };
	}
	return { file: "en", format: "en", direction: "ltr" };
}
var nonce = document.currentScript?.nonce ?? "";
var PATIENCE_MS = 3e3;
async function load([address, integrity], base) {
	const { href } = new URL(address, base);
	const link = document.createElement("link");
	try {
		if (link.relList.supports("modulepreload")) {
			await new Promise((onload, onerror) => {
				Object.assign(link, { rel: "modulepreload", crossOrigin: "anonymous", integrity, nonce, onload, onerror, href });
				document.head.append(link);
				setTimeout(onload, PATIENCE_MS);
			});
		}
		return await import(href);
	} finally {
		link.remove();
	}
}
function say(strings, key, values = {}) {
	return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
function box(part2) {
	return ["color", "radius", "top-width", "right-width", "bottom-width", "left-width"].map((what) => `--${part2}--border-${what}`);
}
var VARIABLES = [
	...["primary", "hover", "content", "app", "header"].map((what) => `--color-${what}`),
	"--font-color",
	...box("accordion"),
	...box("input"),
	"--input--font-color",
	"--input--background-color",
	"--button--border-radius"
];
var PLAIN = /^[#\w\s.,%()/+-]{1,64}$/;
var REACHING_OUT = /(?:url|image|set|var|env|attr)\s*\(/i;
var FONTS = /^[\p{L}\d\s,"'-]{1,200}$/u;
var UNCHOSEN_FONT = /^"?(?:times(?: new roman)?|serif)"?$/i;
function isSafe(name, value) {
	const property = name.endsWith("width") ? "border-top-width" : name.endsWith("radius") ? "border-top-left-radius" : "color";
	return PLAIN.test(value) && !REACHING_OUT.test(value) && CSS.supports(property, value);
}
function applyTheme(element, theme) {
	const { style } = element;
	for (const name of VARIABLES) {
		const value = theme.variables[name] ?? "";
		style.setProperty(name, isSafe(name, value) ? value : "initial");
	}
	const chosen = FONTS.test(theme.font) && !UNCHOSEN_FONT.test(theme.font);
	style.setProperty("--d-font", chosen ? `${theme.font}, sans-serif` : "");
	element.dataset["scheme"] = theme.scheme;
	inkButtons(element);
}
function inkButtons(element) {
	const probe = element.appendChild(document.createElement("i"));
	for (const name of ["primary", "hover"]) {
		probe.style.backgroundColor = `var(--d-${name})`;
		element.style.setProperty(`--d-on-${name}`, inkOn(getComputedStyle(probe).backgroundColor));
	}
	probe.remove();
}
function inkOn(background) {
	const [r = 0, g = 0, b = 0] = (/^rgba?\((.*)\)$/.exec(background)?.[1] ?? "").split(/[\s,/]+/).map((channel) => (Number(channel) / 255) ** 2.2);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.185 ? "#11151c" : "#fff";
}
var members = (value) => Object(value);
function pause(ms, signal) {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, ms);
		signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
	});
}
var PAUSES = [500, 1e3, 2e3];
var Api = class {
	constructor(base, sessionId) {
		this.base = base;
		this.session = `shopper/session/${encodeURIComponent(sessionId)}`;
	}
	strings(tag, signal) {
		return this.persist(`locales/${tag}.json`, { cache: "default" }, 7, signal, "pay");
	}
	view(signal) {
		return this.persist(this.session, {}, 7, signal, "State");
	}
	progress(waitSeconds, from, signal) {
		return this.call(`${this.session}/progress?wait=${waitSeconds}&from=${from}`, {}, waitSeconds + 10, signal, "State");
	}
	submit(order, signal) {
		const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(order), keepalive: true };
		return this.call(`${this.session}/submit`, request, 30, signal, "State");
	}
	stash(view, order, secret, signal) {
		const address = `${view.StashUrl}/${view.MerchantId}/${order.AttemptId}`;
		const body = new URLSearchParams({ DeviceFingerprint: order.DeviceFingerprint, ...secret });
		return this.persist(address, { method: "POST", body }, 15, signal, "Warnings");
	}
	async persist(path, request, seconds, flow, proof) {
		for (const ms of PAUSES) {
			const answer = await this.call(path, request, seconds, flow, proof);
			if (answer.kind !== "unreachable" || flow.aborted) return answer;
			await pause(ms, flow);
		}
		return this.call(path, request, seconds, flow, proof);
	}
	async call(path, request, seconds, flow, proof) {
		const limit = new AbortController();
		const stop = () => limit.abort();
		const timer = setTimeout(stop, seconds * 1e3);
		flow.addEventListener("abort", stop);
		try {
			const response = await fetch(new URL(path, this.base), { cache: "no-store", credentials: "omit", ...request, signal: limit.signal });
			const body = members(await response.json());
			if (response.ok && proof in body) return { kind: "ok", body };
			if (response.ok || response.status === 429 || response.status >= 500) return { kind: "unreachable" };
			return { kind: "refused", status: response.status, code: String(body["Code"]), message: String(body["Message"] ?? "") };
		} catch {
			return { kind: "unreachable" };
		} finally {
			clearTimeout(timer);
			flow.removeEventListener("abort", stop);
		}
	}
};
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
function setState(element, name, on) {
	if (on) element.setAttribute(name, "true");
	else element.removeAttribute(name);
}
function icon(name, d) {
	const path = fill(document.createElementNS(SVG, "path"), { d }, []);
	return fill(document.createElementNS(SVG, "svg"), { class: `icon ${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, [path]);
}
function setNotice(box2, text) {
	box2.hidden = text === "";
	box2.replaceChildren(...text === "" ? [] : [icon("warning", WARNING), h("p", {}, text)]);
}
function payButton(type, text) {
	return h("button", { type, class: "pay" }, icon("lock", LOCK), h("span", { class: "spinner" }), text);
}
var CARD = "M5 5h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM3 10h18M7 15h3";
var LOCK = "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z";
var WARNING = "M12 8v5M12 16.5v.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z";
var FOURS = [4, 8, 12, 16];
var TABLE = [
	"VISA|Visa|VISA|13 16 18 19|4",
	"MC|Mastercard|MC|16|51-55 2221-2720",
	"AMEX|American Express|AMEX|15|34 37",
	"DISC|Discover|DISC|16 17 18 19|6011 644-649 65",
	"JCB|JCB|JCB|16 17 18 19|3528-3589",
	"DINERS|Diners Club|DC|14 15 16 17 18 19|300-305 3095 36 38-39",
	"UNIONPAY|UnionPay|UP|14 15 16 17 18 19|62 81",
	"MAESTRO|Maestro|MAES|12 13 14 15 16 17 18 19|5018 5020 5038 56-58 6304 67",
	"ELO|Elo|ELO|16|401178-401179 438935 506699-506778 509000-509999 636368",
	"HIPERCARD|Hipercard|HIPER|16|606282",
	"MIR|Mir|MIR|16 17 18 19|2200-2204",
	"RUPAY|RuPay|RUPAY|16|508500-508999 6521-6522 60698-60699",
	"TROY|Troy|TROY|16|9792",
	"DANKORT|Dankort|DK|16|5019"
];
var BRANDS = TABLE.map((row) => {
	const [id = "", name = "", mark = "", lengths = "", prefixes = ""] = row.split("|");
	const asPrinted2 = id === "AMEX" || id === "DINERS" ? [4, 10] : FOURS;
	const codeLength = id === "AMEX" ? 4 : 3;
	return { id, name, mark, lengths: lengths.split(" ").map(Number), gaps: asPrinted2, codeLength, prefixes: prefixes.split(" ") };
});
function brandOf(digits) {
	let best = null;
	let longest = 0;
	for (const brand of BRANDS) {
		for (const prefix of brand.prefixes) {
			const [low = "", high = low] = prefix.split("-");
			const head = digits.slice(0, low.length);
			if (low.length <= longest || head.length < low.length || head < low || head > high) continue;
			best = brand;
			longest = low.length;
		}
	}
	return best;
}
function markOf(id, name) {
	return BRANDS.find((brand) => brand.id === id)?.mark ?? name;
}
var ZEROS = [48, 1632, 1776, 2406, 65296];
function toDigits(text) {
	let digits = "";
	for (const character of text) {
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
	const text = due < 0 ? raw : `${raw.slice(0, due)}0${raw.slice(due)}`;
	const caret = due >= 0 && rawCaret > due ? rawCaret + 1 : rawCaret;
	let before = toDigits(text.slice(0, caret));
	let after = toDigits(text.slice(caret));
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
var Field = class {
	constructor(setup, strings, changed, complained) {
		this.setup = setup;
		this.strings = strings;
		this.changed = changed;
		this.complained = complained;
		this.hint = h("p", { class: "hint" });
		this.errorText = h("span");
		this.digits = "";
		this.kind = "insert";
		this.refused = null;
		const { id, mask, autocomplete } = setup;
		const forDigits = mask ? { inputmode: "numeric", dir: "ltr" } : { dir: "auto", autocapitalize: "words" };
		const quiet = { autocorrect: "off", spellcheck: "false", enterkeyhint: "next" };
		this.hint.id = `${id}-hint`;
		this.error = h("p", { class: "error", id: `${id}-error`, hidden: true }, icon("warning", WARNING), this.errorText);
		const placeholder = setup.placeholder ?? null;
		this.input = h("input", { id, name: id, type: "text", autocomplete, placeholder, "aria-required": "true", ...forDigits, ...quiet });
		this.box = h("div", { class: "box" }, this.input);
		const label = h("label", { for: id }, say(strings, id));
		this.element = h("div", { class: `field ${id}` }, label, this.box, h("div", { class: "under" }, this.hint, this.error));
		this.listen();
	}
	get value() {
		return this.setup.mask ? this.digits : this.input.value;
	}
	get problem() {
		return this.refused ?? this.setup.problem(this.value);
	}
	setHint(text) {
		if (this.hint.textContent !== text) this.hint.textContent = text;
		this.describe();
	}
	show(problem) {
		const text = problem && say(this.strings, problem.key, problem.values);
		this.errorText.textContent = text ?? "";
		this.error.hidden = text === null;
		this.hint.hidden = text !== null;
		setState(this.input, "aria-invalid", text !== null);
		this.describe();
		return text;
	}
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
	const brand = brandOf(digits);
	if (brand !== null && !accepted.includes(brand.id)) return { key: "numberNotAccepted", values: { brand: brand.name } };
	const shortest = brand?.lengths[0] ?? SHORTEST_NUMBER;
	if (digits.length < shortest) return { key: "numberShort" };
	const fits = brand === null ? digits.length <= LONGEST_NUMBER : brand.lengths.includes(digits.length);
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
var NUMBER_MASK = {
	most: (digits) => brandOf(digits)?.lengths.at(-1) ?? LONGEST_NUMBER,
	show: (digits) => grouped(digits, brandOf(digits)?.gaps ?? FOURS)
};
var CardForm = class {
	constructor(strings, accepted, events) {
		this.strings = strings;
		this.events = events;
		this.mark = h("span", { class: "mark" });
		this.notice = h("div", { class: "notice", hidden: true });
		this.buttonText = h("span");
		this.total = h("p", { class: "total", hidden: true });
		this.amount = "";
		this.busy = false;
		this.fields = this.buildFields(accepted);
		const { number, expiry, code, name } = this.fields;
		number.box.append(icon("blank-card", CARD), this.mark);
		this.button = payButton("submit", this.buttonText);
		const pair = h("div", { class: "pair" }, expiry.element, code.element);
		const rows = [number.element, pair, name.element, this.notice, this.total, this.button];
		this.element = h("form", { novalidate: true, autocomplete: "on", "aria-label": say(strings, "frameTitle") }, ...rows);
		this.element.addEventListener("submit", (event) => {
			event.preventDefault();
			events.submitted();
		});
		this.numberChanged();
	}
	get valid() {
		return Object.values(this.fields).every((field) => field.problem === null);
	}
	check() {
		const wrong = Object.values(this.fields).filter((field) => field.show(field.problem) !== null);
		const first = wrong[0];
		if (first === void 0) return this.read();
		this.complain(wrong);
		return null;
	}
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
	hideButton(hidden) {
		this.button.hidden = hidden;
		this.button.disabled = hidden;
		this.total.hidden = !hidden;
	}
	setBusy(busy) {
		this.busy = busy;
		for (const field of Object.values(this.fields)) field.input.readOnly = busy;
		this.element.setAttribute("aria-busy", String(busy));
		this.label();
	}
	rest(resting) {
		setState(this.button, "aria-disabled", resting);
	}
	setNotice(text) {
		setNotice(this.notice, text);
	}
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
			expiry: make("expiry", "cc-exp", (value) => expiryProblem(value, new Date()), EXPIRY_MASK, say(strings, "expiryPlaceholder")),
			code: make("code", "cc-csc", (value) => codeProblem(value, this.fields.number.value), codeMask),
			name: make("name", "cc-name", nameProblem)
		};
		fields.name.input.setAttribute("enterkeyhint", "go");
		return fields;
	}
	numberChanged() {
		const brand = brandOf(this.fields.number.value);
		this.mark.textContent = brand === null ? "" : markOf(brand.id, brand.name);
		this.mark.dataset["brand"] = brand?.id ?? "";
		this.fields.code.setHint(say(this.strings, brand?.codeLength === 4 ? "codeHint4" : "codeHint3"));
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
var PROTOCOL = 1;
var CARDS = "CARD";
var SHELL_SHAPES = {
	setup: { hideSubmitButton: true },
	theme: { theme: {} },
	select: { method: "" },
	submit: {},
	wallet: { ask: {} }
};
function matches(value, shapes) {
	const message = Object(value);
	const type = String(message["type"]);
	return Object.hasOwn(shapes, type) && Object.entries(shapes[type] ?? {}).every(([member, sample]) => typeof message[member] === typeof sample && message[member] !== null);
}
function isPortOffer(value) {
	const offer = Object(value);
	return offer.type === "dropin-port" && offer.protocol === PROTOCOL;
}
function isShellMessage(value) {
	return matches(value, SHELL_SHAPES);
}
var decimals = ({ MinorUnits }) => ({ minimumFractionDigits: MinorUnits, maximumFractionDigits: MinorUnits });
function amountOf(view, locale) {
	return new Intl.NumberFormat(locale, { style: "currency", currency: view.Currency, ...decimals(view) }).format(view.TotalAmount);
}
function plainAmountOf(view, locale) {
	return new Intl.NumberFormat(locale, { useGrouping: false, numberingSystem: "latn", ...decimals(view) }).format(view.TotalAmount);
}
var TYPED = [
	["AccountHolder", "bankHolder"],
	["Iban", "bankIban"],
	["AccountNumber", "bankAccount"],
	["SwiftCode", "bankSwift"],
	["ExtraBankData", "bankExtra"],
	["PaymentReference", "bankReference"]
];
var asPrinted = (iban) => iban.replace(/\s/g, "").replace(/(.{4})(?=.)/g, "$1 ");
function detailsOf(strings, locale, view, bank) {
	const typed = TYPED.map(([member, key]) => {
		const copy = bank[member] ?? "";
		return { label: say(strings, key), text: member === "Iban" ? asPrinted(copy) : copy, copy };
	});
	const place = [bank.City, bank.Country].filter(Boolean).join(", ");
	return [
		{ label: say(strings, "bankAmount"), text: amountOf(view, locale), copy: plainAmountOf(view, locale) },
		...typed,
		{ label: say(strings, "bankName"), text: bank.BankName ?? "", copy: "" },
		{ label: say(strings, "bankPlace"), text: place, copy: "" }
	].filter(({ text }) => text !== "");
}
var isCard = (method) => method.Class === "Card";
function cardEntry(strings, schemes) {
	const names = schemes.map((method) => method.Name).join(", ");
	const marks = schemes.map((method) => markOf(method.Id, method.Name));
	return { id: CARDS, name: say(strings, "card"), icon: "card", marks, accepted: say(strings, "acceptedCards", { names }), line: "", button: "" };
}
function entry(strings, { Id, Name, Class }, amount) {
	const transfer = Class === "Offline";
	return {
		id: Id,
		name: Name,
		icon: transfer ? "bank" : "leave",
		marks: [],
		accepted: "",
		line: say(strings, transfer ? "transferLine" : "leaveLine", { name: Name, amount }),
		button: say(strings, "pay", { amount })
	};
}
function faceOf(strings, locale, view) {
	const amount = amountOf(view, locale.format);
	const schemes = view.PaymentMethods.filter(isCard);
	const others = view.PaymentMethods.filter((method) => !isCard(method)).map((method) => entry(strings, method, amount));
	return {
		lang: locale.format,
		dir: locale.direction,
		frameTitle: say(strings, "frameTitle"),
		testMode: view.Sandbox ? say(strings, "testMode") : "",
		methods: schemes.length > 0 ? [cardEntry(strings, schemes), ...others] : others,
		view,
		strings
	};
}
var kept = new Map();
function allowed(use) {
	try {
		return use();
	} catch {
		return null;
	}
}
function remember(area, key) {
	const value = allowed(() => window[area].getItem(key)) ?? kept.get(key) ?? crypto.randomUUID();
	kept.set(key, value);
	allowed(() => window[area].setItem(key, value));
	return value;
}
var attemptKey = (sessionId) => `dropin.attempt.${sessionId}`;
function openAttempt(sessionId) {
	return remember("sessionStorage", attemptKey(sessionId));
}
function closeAttempt(sessionId) {
	kept.delete(attemptKey(sessionId));
	allowed(() => window.sessionStorage.removeItem(attemptKey(sessionId)));
}
function deviceFingerprint() {
	return remember("localStorage", "dropin.device");
}
var part = (id) => document.getElementById(id);
function announce(message) {
	const live = part("live");
	live.textContent = live.textContent === message ? `${message} ` : message;
}
function show(content) {
	part("app").append(content);
}
function watchHeight(tell) {
	let told = 0;
	const app = part("app");
	const measure = () => {
		const height = Math.ceil(app.getBoundingClientRect().height);
		if (height > 0 && height !== told) tell(told = height);
	};
	measure();
	new ResizeObserver(measure).observe(app);
}
var LONG_PAUSE_MS = 4e3;
var WAIT = 25;
var PATIENCE_MS2 = 25e3;
var BREATH_MS = 1e3;
var REST_MS = 600;
var WARNED = {
	CardNumberInvalid: "number",
	CardMonthInvalid: "expiry",
	CardVerificationCodeInvalid: "code"
};
var Checkout = class {
	constructor(api, sessionId, link, form, strings, locale, view) {
		this.api = api;
		this.sessionId = sessionId;
		this.link = link;
		this.form = form;
		this.strings = strings;
		this.locale = locale;
		this.view = view;
		this.phase = "paying";
		this.flow = new AbortController();
		this.method = "";
		this.resting = false;
		this.away = "";
	}
	begin(notice) {
		this.form.setAmount(this.amountOf(this.view));
		this.link.send({ type: "ready", face: faceOf(this.strings, this.locale, this.view) });
		if (this.view.State === "CREATED") this.openForm(notice);
		else void this.follow(this.newFlow(), null);
	}
	select(method) {
		this.method = method;
		this.tellEnabled();
	}
	tellEnabled() {
		const enabled = this.phase === "form" && this.method !== "" && !this.resting && (!this.byCard || this.form.valid);
		this.link.sendEnabled(enabled);
	}
	async pay(token) {
		if (this.phase !== "form" || this.method === "" && !token || this.resting) return;
		const byCard = this.byCard && !token;
		const card = byCard ? this.form.check() : null;
		if (byCard && card === null) return;
		const signal = this.newFlow();
		this.notify("");
		this.setBusy(true, card === null ? this.paying : "");
		if (card !== null) announce(this.paying);
		const AttemptId = openAttempt(this.sessionId);
		const attempt = { Version: this.view.Version, AttemptId, DeviceFingerprint: deviceFingerprint() };
		const secret = token ? { token_data: JSON.stringify(token) } : card && { card: JSON.stringify(card) };
		const order = secret ? { ...attempt, StashId: AttemptId } : { ...attempt, PaymentMethod: this.method };
		if (!secret || await this.stash(secret, order, signal)) await this.follow(signal, order);
	}
	get byCard() {
		return this.method === CARDS;
	}
	get paying() {
		return this.say("paying", { amount: this.amountOf(this.view) });
	}
	async reload(notice) {
		if (this.phase === "over") return;
		const signal = this.newFlow();
		this.setBusy(true);
		let answer = await this.api.view(signal);
		while (answer.kind === "unreachable" && !signal.aborted) {
			await pause(LONG_PAUSE_MS, signal);
			answer = await this.api.view(signal);
		}
		if (signal.aborted || answer.kind === "unreachable") return;
		if (answer.kind === "refused") return this.fail(answer.code, answer.message);
		const before = this.view;
		this.view = answer.body;
		if (notice !== void 0) this.rest();
		this.begin(notice?.(before, this.view));
	}
	async stash(secret, order, signal) {
		const answer = await this.api.stash(this.view, order, secret, signal);
		if (signal.aborted) return false;
		if (answer.kind === "ok" && answer.body.Warnings.length === 0) return true;
		closeAttempt(this.sessionId);
		const names = answer.kind === "ok" ? answer.body.Warnings.flatMap((warning) => WARNED[warning] ?? []) : [];
		this.openForm(names.length > 0 ? void 0 : this.say(answer.kind === "unreachable" ? "notSent" : "retype"));
		if (names.length > 0) this.form.refuse(names);
		return false;
	}
	async follow(signal, order) {
		let asking = order === null;
		let misses = 0;
		let from = "PROCESSING";
		if (order === null) this.showProcessing();
		while (!signal.aborted) {
			const asked = Date.now();
			const sending = !asking && order !== null ? order : null;
			const answer = sending ? await this.api.submit(sending, signal) : await this.api.progress(WAIT, from, signal);
			if (signal.aborted) return;
			if (answer.kind === "unreachable") {
				if (sending && misses === PAUSES.length) asking = true, this.showStatus("checking");
				await pause(PAUSES[misses] ?? LONG_PAUSE_MS, signal);
				misses = Math.min(misses + 1, PAUSES.length);
				continue;
			}
			misses = 0;
			if (answer.kind === "refused") {
				if (this.refused(answer, sending)) return;
				[order, asking] = [null, true];
				this.showProcessing();
				continue;
			}
			if (this.arrived(answer.body, order)) return;
			from = answer.body.State === "REDIRECTED" ? "REDIRECTED" : "PROCESSING";
			asking = order === null || answer.body.State !== "CREATED";
			const early = Date.now() - asked < BREATH_MS;
			if (early && !(sending && asking)) await pause(BREATH_MS, signal);
		}
	}
	refused(answer, sent) {
		closeAttempt(this.sessionId);
		if (sent === null || answer.status === 404 || answer.code === "RATE_OFFER_EXPIRED") {
			this.fail(answer.code, answer.message);
		} else if (answer.code === "SESSION_CHANGED") {
			void this.reload((before, now) => this.changeOf(before, now));
		} else if (answer.status === 409) {
			return false;
		} else {
			this.openForm(this.say(sent.StashId === void 0 ? "methodRefused" : "retype"));
		}
		return true;
	}
	arrived(progress, order) {
		switch (progress.State) {
			case "COMPLETED":
				this.succeed(progress.BankDetails);
				return true;
			case "FAILED":
				this.fail(progress.ErrorCode ?? "PAYMENT_FAILED", progress.ErrorMessage);
				return true;
			case "CANCELLED":
				this.fail(progress.ErrorCode ?? "SESSION_CANCELLED", progress.ErrorMessage);
				return true;
			case "CREATED":
				if (order === null) void this.reload();
				return order === null;
			case "REDIRECTED":
				this.showAway(progress, order !== null);
				return false;
			default:
				if (this.away !== "") this.cameBack();
				return false;
		}
	}
	openForm(notice) {
		clearTimeout(this.patience);
		this.phase = "form";
		this.setBusy(false);
		this.notify(notice ?? "");
	}
	notify(text) {
		this.form.setNotice(this.byCard ? text : "");
		if (this.byCard && text !== "") announce(text);
		this.link.send({ type: "notice", text: this.byCard ? "" : text });
	}
	setBusy(busy, text = "") {
		if (busy) this.phase = "paying";
		this.form.setBusy(busy);
		this.form.rest(busy || this.resting);
		this.link.send({ type: "busy", busy, text });
		this.tellEnabled();
	}
	rest() {
		this.resting = true;
		setTimeout(() => {
			this.resting = false;
			this.form.rest(this.phase !== "form");
			this.tellEnabled();
		}, REST_MS);
	}
	showProcessing() {
		this.setBusy(true);
		this.showStatus("processing");
	}
	showStatus(what) {
		this.link.send({ type: "status", title: this.say(`${what}Title`), text: this.say(`${what}Text`) });
	}
	showAway({ RedirectUrl: url = "", Challenge: challenge = false }, now) {
		if (this.away === url) return;
		this.away = url;
		clearTimeout(this.patience);
		this.setBusy(true);
		const what = challenge ? "challenge" : "away";
		this.link.send({ type: "away", title: this.say(`${what}Title`), text: this.say(`${what}Text`), url, challenge, now });
	}
	cameBack() {
		this.away = "";
		this.startPatience();
		this.showProcessing();
	}
	succeed(bank) {
		this.end();
		const what = bank ? "bank" : "done";
		const text = this.say(`${what}Text`, { merchant: this.view.MerchantName });
		const details = bank ? detailsOf(this.strings, this.locale.format, this.view, bank) : [];
		this.link.send({ type: "done", title: this.say(`${what}Title`), text, details });
	}
	fail(code, message = "") {
		this.end();
		const text = this.strings[`failed.${code}`] ?? this.say("failed.other");
		this.link.fail(code, message, this.say("failedTitle"), text);
	}
	end() {
		this.newFlow();
		clearTimeout(this.patience);
		this.phase = "over";
		closeAttempt(this.sessionId);
		this.form.clear();
		this.tellEnabled();
	}
	newFlow() {
		this.flow.abort();
		this.flow = new AbortController();
		this.away = "";
		this.startPatience();
		return this.flow.signal;
	}
	startPatience() {
		clearTimeout(this.patience);
		this.patience = setTimeout(() => this.phase === "paying" && this.showStatus("checking"), PATIENCE_MS2);
	}
	amountOf(view) {
		return amountOf(view, this.locale.format);
	}
	say(key, values) {
		return say(this.strings, key, values);
	}
	changeOf(before, now) {
		const [was, amount] = [this.amountOf(before), this.amountOf(now)];
		return this.say(was === amount ? "orderChanged" : "amountChanged", { was, amount });
	}
};
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
		this.enabled = false;
	}
	listen(heard) {
		this.port.onmessage = (event) => {
			if (isShellMessage(event.data)) heard(event.data);
		};
	}
	send(message) {
		this.port.postMessage(message);
	}
	sendEnabled(enabled) {
		if (this.enabled === enabled) return;
		this.enabled = enabled;
		this.send({ type: "enabled", enabled });
	}
	fail(code, message, title, text) {
		const { lang, dir } = document.documentElement;
		this.send({ type: "fail", code, message: message || text, title, text, lang, dir });
	}
};
function refuse(offer, strings, code, message) {
	const text = strings[`failed.${code}`] ?? strings["failed.other"] ?? "";
	new Link(offer.port).fail(code, message, strings["failedTitle"] ?? "", text);
}
function start(offer, api, sessionId, strings, view, locale) {
	const link = new Link(offer.port);
	const form = new CardForm(strings, view.PaymentMethods.filter(isCard).map((method) => method.Id), {
		changed: () => checkout.tellEnabled(),
		submitted: () => void checkout.pay(),
		announce
	});
	show(form.element);
	const checkout = new Checkout(api, sessionId, link, form, strings, locale, view);
	link.listen((message) => {
		if (message.type === "setup") form.hideButton(message.hideSubmitButton);
		else if (message.type === "theme") applyTheme(document.documentElement, message.theme);
		else if (message.type === "select") checkout.select(message.method);
		else if (message.type === "wallet") {
			const answered = load(["./wallet.js?d51fc074ef34","sha256-1R/AdO80CstP/FPeMobQuL2+ITKU8KGrwUs6mJpOpVU="], location.href).then((part2) => part2.answer(message.ask, view, offer.origin, link, checkout));
			answered.catch(() => link.send({ type: "wallet", session: {} }));
		} else void checkout.pay();
	});
	window.addEventListener("pageshow", (event) => {
		if (event.persisted) void checkout.reload();
	});
	checkout.begin();
	watchHeight((height) => link.send({ type: "size", height }));
}
async function boot(script) {
	const offered = portOffer();
	const query = new URLSearchParams(location.search);
	const sessionId = query.get("session") ?? "";
	const locale = resolveLocale([query.get("locale"), location.hash.slice(1), ...navigator.languages], TAGS);
	document.documentElement.lang = locale.format;
	document.documentElement.dir = locale.direction;
	const api = new Api(baseOf(script), sessionId);
	const { signal } = new AbortController();
	const [texts, view] = await Promise.all([api.strings(locale.file, signal), api.view(signal)]);
	const offer = await offered;
	const strings = texts.kind === "ok" ? texts.body : {};
	if (view.kind === "refused") return refuse(offer, strings, view.code, view.message);
	if (view.kind === "unreachable" || texts.kind !== "ok") return refuse(offer, {}, "SERVICE_UNAVAILABLE", "The payment service cannot be reached.");
	if (!view.body.MerchantOrigins.includes(offer.origin)) {
		return refuse(offer, strings, "ORIGIN_NOT_ALLOWED", `Register ${offer.origin} as an origin of this Session's merchant.`);
	}
	document.title = say(strings, "frameTitle");
	if (view.body.State === "CREATED" && view.body.PaymentMethods.length === 0) return refuse(offer, strings, "NO_PAYMENT_METHOD", "No payment method fits the Session's country and currency.");
	start(offer, api, sessionId, strings, view.body, locale);
}
void boot(document.currentScript.src);
})();
