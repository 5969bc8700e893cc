// Dropin: frame.js. Built from crates/browser/src by `npm run build`; do not edit.
(() => {
var FINGERPRINTS = { "ar": "dae7fb396823", "bg": "be253a6dd24f", "cs": "5a2c7b3ff59a", "da": "13c8b60b6685", "de": "067c52514701", "el": "95fb9ca6e3cf", "en": "7b16c6e54e92", "es": "47dccfd7be1d", "et": "99ed29aca1b4", "fi": "4497c7e042c1", "fr": "51e1a0ec0732", "he": "dc649917ad30", "hr": "5bef6ec040f2", "hu": "7e9259f02a46", "id": "c933e40a5199", "it": "875470198687", "ja": "8d6cf624cd5d", "ko": "5f12fba30a60", "lt": "923af026de8c", "lv": "0bac7690aa5b", "ms": "39b7c9fbc108", "nb": "27b7ebe662be", "nl": "84e74e8aac82", "pl": "77bcb319013d", "pt-BR": "beaa8b2b811b", "pt-PT": "b0b79b1f1c4e", "ro": "3298951019f1", "ru": "1286ba940fad", "sk": "cba476efe420", "sl": "678d6582ea77", "sv": "d563145b2cbf", "th": "0ffa4c13e1f3", "tr": "3e2c13954a8c", "vi": "483063c07bf4", "zh-Hans": "e01904c9e221", "zh-Hant": "187eb4deb57f", "en-XA": "e7fadf06f565", "en-XC": "0c6a3f79ca43" };
function baseOf(source) {
	const url = new URL(source);
	const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
	return new URL(folder ?? ".", url);
}
var rightToLeft = ["ar", "he"];
var aliases = {
	in: "id",
	iw: "he",
	mo: "ro",
	nn: "nb",
	no: "nb",
	pt: "pt-PT",
	zh: "zh-Hans",
	"zh-HK": "zh-Hant",
	"zh-MO": "zh-Hant",
	"zh-TW": "zh-Hant"
};
var ALIASES = aliases;
var isLetters = (part2, least, most = least) => part2 !== void 0 && part2.length >= least && part2.length <= most && /^[a-z]+$/i.test(part2);
function choose(request, tags) {
	const [spoken, second, third] = request.split(/[-_]/);
	if (!isLetters(spoken, 2, 3)) return null;
	const language = spoken.toLowerCase();
	const script = isLetters(second, 4) ? second : void 0;
	const land = script === void 0 ? second : third;
	const country = isLetters(land, 2) ? land.toUpperCase() : void 0;
	const wanted = [
		...script === void 0 ? [] : [`${language}-${script.charAt(0).toUpperCase()}${script.slice(1).toLowerCase()}`],
		...country === void 0 || script !== void 0 ? [] : [`${language}-${country}`],
		language
	];
	const tag = wanted.map((one) => ALIASES[one] ?? one).find((one) => tags.includes(one));
	if (tag === void 0) return null;
	const format = country === void 0 ? tag : `${tag.replace(/-[A-Z]{2}$/, "")}-${country}`;
	return { tag, format, direction: rightToLeft.includes(tag) ? "rtl" : "ltr" };
}
function resolveLocale(requests, tags) {
	for (const request of requests) {
		const chosen = choose(request ?? "", tags);
		if (chosen !== null) return chosen;
	}
	return { tag: "en", format: "en", direction: "ltr" };
}
var nonce = document.currentScript?.nonce ?? "";
var PRELOAD_TIMEOUT_MS = 3e3;
async function load([address, integrity], base) {
	const { href } = new URL(address, base);
	const link = document.createElement("link");
	try {
		if (link.relList.supports("modulepreload")) {
			await new Promise((onload, onerror) => {
				Object.assign(link, { rel: "modulepreload", crossOrigin: "anonymous", integrity, nonce, onload, onerror, href });
				document.head.append(link);
				setTimeout(onload, PRELOAD_TIMEOUT_MS);
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
var fieldsOf = ({ FieldErrors }) => Array.isArray(FieldErrors) ? FieldErrors.map((one) => String(members(one)["Field"])) : [];
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
	strings(address, proof) {
		return this.persist(address, { cache: "default" }, 5, new AbortController().signal, proof);
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
	payAnotherWay(attempt, signal) {
		const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ AttemptId: attempt }), keepalive: true };
		return this.call(`${this.session}/pay-another-way`, request, 30, signal, "State");
	}
	removeCard(contract, signal) {
		return this.persist(`${this.session.replace("shopper/", "")}/contract/${encodeURIComponent(contract)}`, { method: "DELETE" }, 15, signal, "");
	}
	stash(view, order, secret, signal) {
		const address = `${view.StashUrl}/${view.MerchantId}/${order.AttemptId}`;
		const [TimeZone, Language] = [Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.language];
		const body = new URLSearchParams({ DeviceFingerprint: order.DeviceFingerprint, SessionId: view.SessionId, TimeZone, Language, ...secret });
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
			if (proof === "" && response.status === 204) return { kind: "ok", body: {} };
			const body = members(await response.json());
			if (response.ok && proof !== "" && proof in body) return { kind: "ok", body };
			if (response.ok || response.status === 429 || response.status >= 500) return { kind: "unreachable" };
			return { kind: "refused", status: response.status, code: String(body["Code"]), message: String(body["Message"] ?? ""), fields: fieldsOf(body) };
		} catch {
			return { kind: "unreachable" };
		} finally {
			clearTimeout(timer);
			flow.removeEventListener("abort", stop);
		}
	}
};
var FOURS = [4, 8, 12, 16];
var TABLE = [
	"VISA|Visa|13 16 18 19|4",
	"MC|Mastercard|16|51-55 2221-2720",
	"AMEX|American Express|15|34 37",
	"DISC|Discover|16 17 18 19|6011 644-649 65",
	"JCB|JCB|16 17 18 19|3528-3589",
	"DINERS|Diners Club|14 15 16 17 18 19|300-305 3095 36 38-39",
	"UNIONPAY|UnionPay|14 15 16 17 18 19|62 81",
	"MAESTRO|Maestro|12 13 14 15 16 17 18 19|5018 5020 5038 56-58 6304 67",
	"ELO|Elo|16|401178-401179 438935 506699-506778 509000-509999 636368",
	"HIPERCARD|Hipercard|16|606282",
	"MIR|Mir|16 17 18 19|2200-2204",
	"RUPAY|RuPay|16|508500-508999 6521-6522 60698-60699",
	"TROY|Troy|16|9792",
	"DANKORT|Dankort|16|5019"
];
var BRANDS = TABLE.map((row) => {
	const [id = "", name = "", lengths = "", prefixes = ""] = row.split("|");
	const asPrinted2 = id === "AMEX" || id === "DINERS" ? [4, 10] : FOURS;
	const codeLength = id === "AMEX" ? 4 : 3;
	return { id, name, lengths: lengths.split(" ").map(Number), gaps: asPrinted2, codeLength, prefixes: prefixes.split(" ") };
});
var brandNamed = (id) => BRANDS.find((brand) => brand.id === id) ?? null;
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
function svg(tag, attributes = {}, ...children) {
	return fill(document.createElementNS(SVG, tag), attributes, children);
}
function setState(element, name, on) {
	if (on) element.setAttribute(name, "true");
	else element.removeAttribute(name);
}
function icon(name, d) {
	return svg("svg", { class: `icon ${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d }));
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
var [WIDTH, HEIGHT] = [36, 24];
function draw(drawing, name) {
	if (drawing === "") return h("span", { class: "mark", "aria-hidden": "true" }, name);
	return svg("svg", { class: "mark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, ...drawing.split("|").map(shape));
}
function shape(text) {
	const [kind, color = "", ...rest] = text.split(" ");
	const fill2 = `#${color}`;
	const [a = "", b = "", c = "", d = "", words = ""] = rest;
	if (kind === "b") return svg("path", { fill: fill2, d: `M0 0h${WIDTH}v${HEIGHT}H0z` });
	if (kind === "c") return svg("circle", { fill: fill2, cx: a, cy: b, r: c });
	if (kind === "p") return svg("path", { fill: fill2, d: rest.join(" ") });
	return svg("text", { fill: fill2, x: a, y: b, textLength: c, "font-size": d, "font-weight": "700", lengthAdjust: "spacingAndGlyphs" }, words);
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
var withLead = (mask, digits) => (mask.lead?.(digits) ?? "") + digits;
function applyEdit(mask, held, raw, rawCaret, kind) {
	const due = kind === "insert" ? mask.shortGroup?.(raw) ?? -1 : -1;
	const text = due < 0 ? raw : `${raw.slice(0, due)}0${raw.slice(due)}`;
	const caret = due >= 0 && rawCaret > due ? rawCaret + 1 : rawCaret;
	let before = toDigits(text.slice(0, caret));
	let after = toDigits(text.slice(caret));
	if (kind === "insert") {
		const kept2 = commonLength(held.slice(0, Math.max(0, held.length - after.length)), before);
		while (before.length > kept2 && withLead(mask, before + after).length > mask.max(withLead(mask, before + after))) before = before.slice(0, -1);
	} else if (before + after === held) {
		if (kind === "backward") before = before.slice(0, -1);
		else after = after.slice(1);
	}
	const digits = withLead(mask, before + after);
	const zero = digits.length - before.length - after.length;
	if (before !== "") before = digits.slice(0, zero + before.length);
	const value = mask.show(digits, kind === "insert");
	const atEnd = after === "" && kind === "insert";
	return { digits, value, caret: atEnd ? value.length : caretAfter(value, before.length) };
}
function grouped(digits, gaps) {
	let value = "";
	for (let i = 0; i < digits.length; i++) value += (gaps.includes(i) ? " " : "") + digits[i];
	return value;
}
var isYearFirst = (digits) => digits.startsWith("20");
var EXPIRY_MASK = {
	max: (digits) => isYearFirst(digits) || digits.slice(2, 4) === "20" ? 6 : 4,
	show: (digits, inserting) => {
		const [first, between] = isYearFirst(digits) ? [4, "-"] : [2, " / "];
		if (digits.length < first || digits.length === first && !inserting) return digits;
		return digits.slice(0, first) + between + digits.slice(first);
	},
	lead: (digits) => /^(?:[3-9]|2[1-9])/.test(digits) ? "0" : "",
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
		const { mask, autocomplete } = setup;
		const id = setup.id + (setup.suffix ?? "");
		const forDigits = mask ? { inputmode: "numeric", dir: "ltr" } : { dir: "auto", autocapitalize: "words" };
		const quiet = { autocorrect: "off", spellcheck: "false", enterkeyhint: "next" };
		this.hint.id = `${id}-hint`;
		this.error = h("p", { class: "error", id: `${id}-error`, hidden: true }, icon("warning", WARNING), this.errorText);
		const placeholder = setup.placeholder ?? null;
		this.input = h("input", { id, name: setup.id, type: "text", autocomplete, placeholder, "aria-required": "true", ...forDigits, ...quiet });
		this.box = h("div", { class: "box" }, this.input);
		const label = h("label", { for: id }, say(strings, setup.id));
		this.element = h("div", { class: `field ${setup.id}` }, label, this.box, h("div", { class: "under" }, this.hint, this.error));
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
		const own = !this.error.hidden ? this.error.id : this.hint.textContent ? this.hint.id : "";
		const shown = `${own} ${this.setup.note ?? ""}`.trim();
		if (shown === "") this.input.removeAttribute("aria-describedby");
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
var DRAWINGS = {
	VISA: "b 1b2f7d|p f2a900 M0 20h36v4H0z|p fff M4 6h3.2l1.5 6.2L11.4 6h3.2L10 16.5H7zM15.6 6h2.8l-1.6 10.5h-2.8zM19 8.8c0-2 2-3 4-3 1.2 0 2 .2 2.6.5l-.5 2.2c-1.5-.7-3-.7-3 0 0 1 3.2 1.3 3.2 4 0 2.5-2.2 4-4.6 4-1.3 0-2.3-.2-3-.5l.5-2.3c1.8.9 3.6.8 3.6-.2 0-1.2-2.8-1.3-2.8-4.7zM29 6h2.5l2.2 10.5H31l-.4-1.8h-2.7l-.9 1.8h-2.8zm.7 3-1.1 3.7h1.6z",
	MC: "b fff|c e0362c 14 12 7.5|c f5a02b 22 12 7.5|p ee6a26 M18 5.66a7.5 7.5 0 0 1 0 12.68a7.5 7.5 0 0 1 0-12.68z",
	AMEX: "b 1f6fc4|p fff M3 7h30v1.2H3zM3 15.8h30V17H3z|t fff 4.5 14.6 27 8 AMEX",
	DISC: "b fff|p f27a1a M36 12v12H13c10-1 19-5 23-12z|t 20232b 3 12.5 19 7 DISC|c f27a1a 26.5 9.8 3.6",
	JCB: "b fff|p 12519b M5 7a3 3 0 0 1 3-3h5v13a3 3 0 0 1-3 3H5z|p c4162e M14 7a3 3 0 0 1 3-3h5v13a3 3 0 0 1-3 3h-5z|p 2c8a3d M23 7a3 3 0 0 1 3-3h5v13a3 3 0 0 1-3 3h-5z|t fff 7.5 14.7 4 7 J|t fff 15.7 14.7 5 7 C|t fff 24.7 14.7 5 7 B",
	DINERS: "b fff|c 0f4ea0 18 12 9|c fff 18 12 7|p 0f4ea0 M16.5 6.9a5.3 5.3 0 0 0 0 10.2zM19.5 6.9a5.3 5.3 0 0 1 0 10.2z",
	UNIONPAY: "b fff|p d3202f M8 3h8l-4 18H4z|p 13497f M16 3h8l-4 18h-8z|p 0b7f84 M24 3h8l-4 18h-8z|t fff 12 14.6 12 7 UP",
	MAESTRO: "b fff|c 1387c9 14 12 7.5|c e0362c 22 12 7.5|p 6f5aa8 M18 5.66a7.5 7.5 0 0 1 0 12.68a7.5 7.5 0 0 1 0-12.68z",
	ELO: "b 16181d|p f5c518 M11 8a8 8 0 0 1 9-3.7l-1 3.1a5 5 0 0 0-5 2z|p 23a7df M21.5 5a8 8 0 0 1 4 9l-3.2-1a5 5 0 0 0-2.3-5.2z|p e5352d M24 17a8 8 0 0 1-10.5 1.6l2-2.7a5 5 0 0 0 6.3-1z",
	HIPERCARD: "b b3131b|p fff M11 5h4v5h6V5h4v14h-4v-5.5h-6V19h-4z",
	MIR: "b fff|p 1b8f4d M5 8h3l2 4 2-4h3v8h-2.6v-4l-1.6 3h-1.6l-1.6-3v4H5zM16.5 8h2.5v4l3-4h2.5v8H22v-4l-3 4h-2.5zM26 8h5.5a3 3 0 0 1-3 3.6V16H26z",
	RUPAY: "b fff|t 1d2b6b 3.5 15 17 8 Ru|p f07f1c M22 5h3.5L31 12l-5.5 7H22l4-7z|p 17894a M27 5h2l5 7-5 7h-2l4.5-7z",
	TROY: "b 0d9aa6|c fff 12 12 5|c 0d9aa6 12 12 2.6|p fff M20 8h11v2.6h-4V17h-3v-6.4h-4z",
	DANKORT: "b fff|p d4202f M4 12a8 8 0 0 1 8-8h12a8 8 0 0 1 0 16H12a8 8 0 0 1-8-8z|p fff M11 8h4a4 4 0 0 1 0 8h-4zM20 8h2.5v3l2.7-3h3l-3.5 4 3.5 4h-3l-2.7-3v3H20z",
	PAYPAL: "b fff|p 14357d M13 4h7.5c3.5 0 5 2 4.5 4.8-.6 3.4-3 5-6.5 5h-2.7L14.9 19H10.6z|p 3f8fdc M16.5 8h6.8c3 0 4.2 1.9 3.7 4.4-.5 3-2.7 4.5-5.8 4.5h-2l-.8 4.1h-3.7l.6-3.4h2l.9-4.4h1.9c3.2 0 5.5-1.5 6.1-4.7z",
	IDEAL: "b fff|p 20232b M9 4h10a8 8 0 0 1 0 16H9a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1z|p d5186c M15 6.5h4a5.5 5.5 0 0 1 0 11h-4z|c fff 11.5 9 1.8|p fff M10 12h3v5.5h-3z"
};
var drawingOf = (id) => Object.hasOwn(DRAWINGS, id) ? DRAWINGS[id] ?? "" : "";
var part = (id) => document.getElementById(id);
function announce(message) {
	const live = part("live");
	live.textContent = live.textContent === message ? `${message} ` : message;
}
function whenDrawn(run) {
	requestAnimationFrame(() => requestAnimationFrame(run));
}
function show(content) {
	part("app").append(content);
}
function watchHeight(tell) {
	let sent = 0;
	const app = part("app");
	const measure = () => {
		const height = Math.ceil(app.getBoundingClientRect().height);
		if (height > 0 && height !== sent) tell(sent = height);
	};
	measure();
	new ResizeObserver(measure).observe(app);
}
var PayForm = class {
	constructor(strings, events, label, suffix = "") {
		this.strings = strings;
		this.events = events;
		this.suffix = suffix;
		this.buttonText = h("span");
		this.total = h("p", { class: "total", hidden: true });
		this.amount = "";
		this.free = false;
		this.busy = false;
		this.notice = h("div", { class: "notice", id: `notice${suffix}`, hidden: true });
		this.button = payButton("submit", this.buttonText);
		this.element = h("form", { novalidate: true, autocomplete: "on", "aria-label": label });
		this.element.addEventListener("submit", (event) => {
			event.preventDefault();
			events.submitted();
		});
	}
	get valid() {
		return this.all.every((field) => field.problem === null);
	}
	check() {
		const wrong = this.all.filter((field) => field.show(field.problem) !== null);
		if (wrong.length === 0) return this.read();
		this.complain(wrong);
		return null;
	}
	refuse(names) {
		const keys = { number: "numberInvalid", expiry: "expiryRefused", code: "codeRefused", name: "nameNotName" };
		const refused = names.flatMap((name) => this.fields[name] ?? []);
		for (const name of names) this.fields[name]?.refuse({ key: keys[name] });
		this.complain(refused);
		this.events.changed();
	}
	setAmount(amount, free) {
		[this.amount, this.free] = [amount, free];
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
		for (const { input } of this.all) input.readOnly = busy;
		this.element.setAttribute("aria-busy", String(busy));
		this.label();
	}
	retry() {
		const { code } = this.fields;
		code.clear();
		whenDrawn(() => code.input.focus());
	}
	rest(resting) {
		setState(this.button, "aria-disabled", resting);
	}
	setNotice(text) {
		setNotice(this.notice, text);
	}
	clear() {
		for (const field of this.all) field.clear();
		this.events.changed();
	}
	fill(...parts) {
		this.element.append(...parts, this.notice, this.total, this.button);
	}
	get all() {
		return Object.values(this.fields);
	}
	complain(wrong) {
		const first = wrong[0];
		if (first === void 0) return;
		first.input.focus();
		const message = say(this.strings, first.problem?.key ?? "", first.problem?.values);
		this.events.announce(wrong.length > 1 ? `${say(this.strings, "fixFields")} ${message}` : message);
	}
	label() {
		const key = this.free ? this.busy ? "saving" : "save" : this.busy ? "paying" : "pay";
		this.buttonText.textContent = say(this.strings, key, { amount: this.amount });
	}
};
var MAX_NUMBER_DIGITS = 19;
var MIN_NUMBER_DIGITS = 12;
var YEARS_AHEAD = 25;
var MAX_NAME_LENGTH = 100;
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
	const shortest = brand?.lengths[0] ?? MIN_NUMBER_DIGITS;
	if (digits.length < shortest) return { key: "numberShort" };
	const fits = brand === null ? digits.length <= MAX_NUMBER_DIGITS : brand.lengths.includes(digits.length);
	return fits && passesLuhn(digits) ? null : { key: "numberInvalid" };
}
var isMonth = (month) => month >= 1 && month <= 12;
function expiryOf(digits) {
	const yearFirst = isYearFirst(digits);
	const [month, year] = [yearFirst ? digits.slice(4) : digits.slice(0, 2), yearFirst ? digits.slice(0, 4) : digits.slice(2)];
	const whole = month.length === 2 && (year.length === 2 || year.length === 4 && isYearFirst(year));
	return whole && isMonth(Number(month)) ? { month: Number(month), year: Number(year) % 2e3 + 2e3 } : null;
}
function expiryProblem(digits, today) {
	if (digits === "") return { key: "expiryMissing" };
	const month = isYearFirst(digits) ? digits.slice(4) : digits.slice(0, 2);
	if (month.length === 2 && !isMonth(Number(month))) return { key: "expiryMonth" };
	const expiry = expiryOf(digits);
	if (expiry === null) return { key: "expiryShort" };
	const months = (expiry.year - today.getFullYear()) * 12 + expiry.month - (today.getMonth() + 1);
	if (months < 0) return { key: "expiryPast" };
	return months > YEARS_AHEAD * 12 ? { key: "expiryFar" } : null;
}
function codeProblem(code, length) {
	if (code === "") return { key: "codeMissing" };
	const fits = length === void 0 ? code.length === 3 || code.length === 4 : code.length === length;
	return fits ? null : { key: length === 4 ? "codeShort4" : "codeShort3" };
}
function nameProblem(name) {
	const trimmed = name.trim();
	if (trimmed === "") return { key: "nameMissing" };
	const looksLikeNumber = (trimmed.match(new RegExp("\\p{Nd}", "gu")) ?? []).length >= 8;
	if (looksLikeNumber || !new RegExp("\\p{L}", "u").test(trimmed)) return { key: "nameNotName" };
	return trimmed.length > MAX_NAME_LENGTH ? { key: "nameLong" } : null;
}
var NUMBER_MASK = {
	max: (digits) => brandOf(digits)?.lengths.at(-1) ?? MAX_NUMBER_DIGITS,
	show: (digits) => grouped(digits, brandOf(digits)?.gaps ?? FOURS)
};
var CardForm = class extends PayForm {
	constructor(strings, accepted, events) {
		super(strings, events, say(strings, "frameTitle"));
		this.blank = icon("blank-card", CARD);
		this.mark = this.blank;
		this.box = h("input", { type: "checkbox", id: "save", "aria-describedby": "agreement" });
		this.agreement = h("p", { class: "agreement", id: "agreement" });
		this.fields = this.buildFields(accepted);
		const { number, expiry, code, name } = this.fields;
		number.box.append(this.mark);
		this.choice = h("div", { class: "choice" }, this.box, h("label", { for: "save" }, say(strings, "saveCard")));
		this.consent = h("div", { class: "consent", hidden: true }, this.choice, this.agreement);
		this.fill(number.element, h("div", { class: "pair" }, expiry.element, code.element), name.element, this.consent);
		this.numberChanged();
	}
	get ticked() {
		return this.box.checked;
	}
	setAgreement({ text, optional }) {
		if (this.agreement.textContent !== text || !optional) this.box.checked = false;
		this.agreement.textContent = text;
		this.consent.hidden = text === "";
		this.choice.hidden = !optional;
		if (text === "" || optional) this.button.removeAttribute("aria-describedby");
		else this.button.setAttribute("aria-describedby", "agreement");
	}
	setBusy(busy) {
		super.setBusy(busy);
		setState(this.box, "aria-disabled", busy);
	}
	clear() {
		super.clear();
		this.box.checked = false;
		this.numberChanged();
	}
	buildFields(accepted) {
		const { strings, events } = this;
		this.box.addEventListener("click", (event) => this.box.hasAttribute("aria-disabled") && event.preventDefault());
		const changed = (field) => {
			if (field.input.id === "number") this.numberChanged();
			events.changed();
		};
		const make = (id, autocomplete, problem, mask, placeholder, note) => new Field({ id, autocomplete, problem, ...mask && { mask }, ...placeholder && { placeholder }, ...note && { note } }, strings, changed, events.announce);
		const codeLength = () => brandOf(this.fields.number.value)?.codeLength;
		const codeMask = { max: () => codeLength() ?? 4, show: (digits) => digits };
		const fields = {
			number: make("number", "cc-number", (value) => numberProblem(value, accepted), NUMBER_MASK),
			expiry: make("expiry", "cc-exp", (value) => expiryProblem(value, new Date()), EXPIRY_MASK, say(strings, "expiryPlaceholder")),
			code: make("code", "cc-csc", (value) => codeProblem(value, codeLength()), codeMask, void 0, "notice"),
			name: make("name", "cc-name", nameProblem)
		};
		fields.name.input.setAttribute("enterkeyhint", "go");
		return fields;
	}
	numberChanged() {
		const brand = brandOf(this.fields.number.value);
		const mark = brand === null ? this.blank : draw(drawingOf(brand.id), brand.name);
		this.mark.replaceWith(mark);
		this.mark = mark;
		this.fields.code.setHint(say(this.strings, brand?.codeLength === 4 ? "codeHint4" : "codeHint3"));
		const code = this.fields.code;
		if (code.input.hasAttribute("aria-invalid")) code.show(code.problem);
	}
	read() {
		const { number, expiry, code, name } = this.fields;
		const date = expiryOf(expiry.value);
		const Expiry = { Year: String(date?.year ?? ""), Month: String(date?.month ?? "").padStart(2, "0") };
		return { Name: name.value.trim(), Number: number.value, VerificationCode: code.value, Expiry };
	}
};
var PROTOCOL = 2;
var CARDS = "CARD";
var SHELL_SHAPES = {
	setup: { hideSubmitButton: true },
	theme: { theme: {} },
	select: { method: "" },
	submit: {},
	another: {},
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
var kept = (symbol, locale) => rightToLeft.includes(new Intl.Locale(locale).language) && /^[A-Z]+[^A-Z]$/.test(symbol) ? `${symbol}‎` : symbol;
function amountOf(view, locale) {
	const parts = new Intl.NumberFormat(locale, { style: "currency", currency: view.Currency, ...decimals(view) }).formatToParts(view.TotalAmount);
	return parts.map(({ type, value }) => type === "currency" ? kept(value, locale) : value).join("");
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
function countryOf(code, locale) {
	return /^[A-Z]{2}$/.test(code) ? new Intl.DisplayNames(locale, { type: "region" }).of(code) ?? code : code;
}
function detailsOf(strings, locale, view, bank) {
	const typed = TYPED.map(([member, key]) => {
		const copy = bank[member] ?? "";
		return { label: say(strings, key), text: member === "Iban" ? asPrinted(copy) : copy, copy };
	});
	const place = [bank.City, countryOf(bank.Country ?? "", locale)].filter(Boolean).join(", ");
	return [
		{ label: say(strings, "bankAmount"), text: amountOf(view, locale), copy: plainAmountOf(view, locale) },
		...typed,
		{ label: say(strings, "bankName"), text: bank.BankName ?? "", copy: "" },
		{ label: say(strings, "bankPlace"), text: place, copy: "" }
	].filter(({ text }) => text !== "");
}
var TEXT_VERSIONS = {
	agree: "2026-11",
	"allow.ONE_CLICK": "2026-11-one-click",
	"allow.UNSCHEDULED": "2026-11-unscheduled"
};
function textOf({ OpensContract, AllowsContract }) {
	const key = OpensContract === void 0 ? `allow.${AllowsContract}` : "agree";
	return key in TEXT_VERSIONS ? key : "";
}
function agreementOf(strings, view) {
	const key = textOf(view);
	return { text: key && say(strings, key, { merchant: view.MerchantName }), optional: view.OpensContract === void 0 };
}
var isFree = (view) => view.OpensContract !== void 0 && view.TotalAmount === 0;
function consentOf(view, locale, ticked) {
	const TextVersion = TEXT_VERSIONS[textOf(view)];
	if (TextVersion === void 0 || view.OpensContract === void 0 && !ticked) return {};
	const { language, region } = new Intl.Locale(locale.format).maximize();
	return { Consent: { TextVersion, Locale: `${language}_${region}` } };
}
var isCard = (method) => method.Class === "Card";
function cardEntry(strings, locale, schemes) {
	const names = new Intl.ListFormat(locale.format).format(schemes.map((method) => method.Name));
	const marks = schemes.map((method) => [drawingOf(method.Id), method.Name]);
	return { id: CARDS, name: say(strings, "card"), icon: "card", drawing: "", marks, accepted: say(strings, "acceptedCards", { names }), line: "", button: "" };
}
var keyOf = (strings, key, id) => `${key}.${id}` in strings ? `${key}.${id}` : key;
function entry(strings, { Id, Name, Class }, amount) {
	const transfer = Class === "Offline";
	const name = strings[`method.${Id}`] ?? Name;
	return {
		id: Id,
		name,
		icon: transfer ? "bank" : Id === "PAYLATER" ? "later" : "leave",
		drawing: drawingOf(Id),
		marks: [],
		accepted: "",
		line: say(strings, transfer ? "transferLine" : keyOf(strings, "leaveLine", Id), { name, amount }),
		button: say(strings, transfer ? "transferButton" : keyOf(strings, "leaveButton", Id), { name, amount })
	};
}
function viewModelOf(strings, locale, { SavedCards: _saved, ...view }, listed) {
	const amount = amountOf(view, locale.format);
	const schemes = view.PaymentMethods.filter(isCard);
	const others = view.PaymentMethods.filter((method) => !isCard(method)).map((method) => entry(strings, method, amount));
	return {
		lang: locale.format,
		dir: locale.direction,
		frameTitle: say(strings, "frameTitle"),
		testMode: view.Sandbox ? say(strings, "testMode") : "",
		listed,
		methods: schemes.length > 0 ? [cardEntry(strings, locale, schemes), ...others] : others,
		view,
		strings
	};
}
var fallback = new Map();
function allowed(use) {
	try {
		return use();
	} catch {
		return null;
	}
}
function getOrCreate(area, key) {
	const value = allowed(() => window[area].getItem(key)) ?? fallback.get(key) ?? crypto.randomUUID();
	fallback.set(key, value);
	allowed(() => window[area].setItem(key, value));
	return value;
}
var attemptKey = (sessionId) => `dropin.attempt.${sessionId}`;
function openAttempt(sessionId) {
	return getOrCreate("sessionStorage", attemptKey(sessionId));
}
function closeAttempt(sessionId, id) {
	if (id !== void 0 && id !== openAttempt(sessionId)) return;
	fallback.delete(attemptKey(sessionId));
	allowed(() => window.sessionStorage.removeItem(attemptKey(sessionId)));
}
function deviceFingerprint() {
	return getOrCreate("localStorage", "dropin.device");
}
var LONG_PAUSE_MS = 4e3;
var WAIT = 25;
var CHECKING_AFTER_MS = 25e3;
var MIN_POLL_MS = 1e3;
var REST_MS = 600;
var EXPIRY_MS = 1e3;
var MAX_TIMER_MS = 2 ** 31 - 1;
var WARNED = {
	CardNumberInvalid: "number",
	CardMonthInvalid: "expiry",
	CardVerificationCodeInvalid: "code"
};
var Checkout = class {
	constructor(api, sessionId, link, forms, texts, locale, view) {
		this.api = api;
		this.sessionId = sessionId;
		this.link = link;
		this.forms = forms;
		this.texts = texts;
		this.locale = locale;
		this.view = view;
		this.phase = "paying";
		this.flow = new AbortController();
		this.method = "";
		this.resting = false;
		this.sent = null;
		this.away = "";
		this.awayAttempt = "";
		this.told = false;
		this.expiry = Infinity;
	}
	async start() {
		const fresh = this.view.State === "CREATED" && this.view.Attempt === void 0;
		if (!fresh) await this.waitForTexts(this.flow.signal);
		this.begin();
		void this.complete();
	}
	begin(notice = this.failureOf(this.view.Attempt)) {
		this.watchExpiry();
		if (this.view.Attempt) closeAttempt(this.sessionId, this.view.Attempt.AttemptId);
		const there = this.forms.setOrder(this.view, this.amountOf(this.view), agreementOf(this.texts.strings, this.view), isFree(this.view));
		this.showModel();
		this.forms.open(this.byCard);
		if (!there) whenDrawn(() => this.forms.focusHeading());
		if (this.view.State === "CREATED") this.openForm(notice);
		else void this.follow(this.newFlow(), null);
	}
	select(method) {
		this.method = method;
		this.forms.open(this.byCard);
		this.tellEnabled();
	}
	toggle(contract) {
		if (this.phase !== "form") return;
		const open = !this.byCard || this.forms.contract !== contract;
		this.forms.contract = contract;
		if (this.byCard && open) this.select(CARDS);
		else this.link.send({ type: "choose", open });
	}
	tellEnabled() {
		const enabled = this.phase === "form" && this.method !== "" && !this.resting && (!this.byCard || this.forms.chosen.valid);
		this.link.sendEnabled(enabled, this.method);
	}
	async pay(token) {
		if (this.phase !== "form" || this.method === "" && !token || this.resting) return;
		const form = this.byCard && !token ? this.forms.chosen : null;
		const card = form && form.check();
		if (form !== null && card === null) return;
		const signal = this.newFlow();
		this.notify("");
		this.setBusy(true, card === null ? this.paying : "");
		if (card !== null) announce(this.paying);
		const complete = await this.complete();
		if (signal.aborted) return;
		if (!complete) return this.openForm(this.say("notSent"));
		this.sent = form;
		const AttemptId = openAttempt(this.sessionId);
		const ContractId = form === null ? "" : this.forms.contract;
		const of = ContractId === "" ? consentOf(this.view, this.locale, form !== null && this.forms.ticked) : { ContractId };
		const attempt = { Version: this.view.Version, AttemptId, DeviceFingerprint: deviceFingerprint(), ...of };
		const secret = token ? { token_data: JSON.stringify(token) } : card && { card: JSON.stringify(card) };
		const order = secret ? { ...attempt, StashId: AttemptId } : { ...attempt, PaymentMethod: this.method };
		if (!secret || await this.stash(secret, order, signal)) await this.follow(signal, order);
	}
	async payAnotherWay() {
		if (this.away === "") return;
		const signal = this.newFlow();
		this.setBusy(true);
		this.showStatus("stopping");
		await this.follow(signal, null, () => this.api.payAnotherWay(this.awayAttempt, signal));
	}
	async remove(contract) {
		if (this.phase !== "form" || this.resting) return false;
		this.setResting(true);
		const answer = await this.api.removeCard(contract, this.flow.signal);
		this.setResting(false);
		if (answer.kind === "refused" && answer.status === 409) void this.reload();
		else if (answer.kind === "ok" || answer.kind === "refused" && answer.status === 404) this.forget(contract);
		else return false;
		return true;
	}
	forget(contract) {
		const cards = this.view.SavedCards ?? [];
		const place = cards.findIndex(({ ContractId }) => ContractId === contract);
		const left = cards.filter(({ ContractId }) => ContractId !== contract);
		this.view = { ...this.view, SavedCards: left };
		this.forms.contract = (left[place] ?? left.at(-1))?.ContractId ?? "";
		this.forms.setOrder(this.view, this.amountOf(this.view), agreementOf(this.texts.strings, this.view), isFree(this.view));
		this.select(this.method);
		this.forms.focusHeading();
		announce(this.say("removed"));
	}
	checkExpiry() {
		if (this.phase === "form" && Date.now() > this.expiry) void this.reload();
	}
	showModel() {
		this.told = this.texts.whole;
		this.link.send({ type: "ready", model: viewModelOf(this.texts.strings, this.locale, this.view, this.forms.listed) });
	}
	async complete() {
		const complete = await this.texts.complete();
		if (complete && !this.told) this.showModel();
		return complete;
	}
	async waitForTexts(signal) {
		while (!await this.texts.complete() && !signal.aborted) await pause(LONG_PAUSE_MS, signal);
	}
	get byCard() {
		return this.method === CARDS;
	}
	get paying() {
		return this.say(isFree(this.view) && this.forms.contract === "" ? "saving" : "paying", { amount: this.amountOf(this.view) });
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
		if (answer.kind === "refused") return this.fail(answer.code);
		await this.forms.prepare(answer.body, false);
		await this.waitForTexts(signal);
		if (signal.aborted) return;
		const before = this.view;
		this.view = answer.body;
		if (notice !== void 0) this.rest();
		this.begin(notice?.(before, this.view));
	}
	async stash(secret, order, signal) {
		const answer = await this.api.stash(this.view, order, secret, signal);
		if (signal.aborted) return false;
		const warnings = (answer.kind === "ok" ? answer.body.Warnings : []).filter((warning) => order.ContractId === void 0 || WARNED[warning] === "code");
		if (answer.kind === "ok" && warnings.length === 0) return true;
		closeAttempt(this.sessionId);
		const names = warnings.flatMap((warning) => WARNED[warning] ?? []);
		this.openForm(names.length > 0 ? void 0 : this.say(answer.kind === "unreachable" ? "notSent" : "retype"));
		if (names.length > 0) this.forms.chosen.refuse(names);
		return false;
	}
	async follow(signal, order, first) {
		let asking = order === null;
		let misses = 0;
		let from = "PROCESSING";
		if (order === null && !first) this.showProcessing();
		while (!signal.aborted) {
			const asked = Date.now();
			const sending = !asking && order !== null ? order : null;
			const call = first ?? (sending ? () => this.api.submit(sending, signal) : () => this.api.progress(WAIT, from, signal));
			const answer = await call();
			if (signal.aborted) return;
			if (answer.kind === "unreachable") {
				if (sending && misses === PAUSES.length) asking = true, this.showStatus("checking");
				await pause(PAUSES[misses] ?? LONG_PAUSE_MS, signal);
				misses = Math.min(misses + 1, PAUSES.length);
				continue;
			}
			misses = 0;
			const begun = first !== void 0;
			first = void 0;
			if (begun && answer.kind === "refused" && answer.status !== 404) continue;
			if (answer.kind === "refused") {
				if (this.refused(answer, sending)) return;
				[order, asking] = [null, true];
				this.showProcessing();
				continue;
			}
			if (this.arrived(answer.body, order)) return;
			from = answer.body.State === "REDIRECTED" ? "REDIRECTED" : "PROCESSING";
			asking = order === null || answer.body.State !== "CREATED";
			const early = Date.now() - asked < MIN_POLL_MS;
			if (early && !(sending && asking)) await pause(MIN_POLL_MS, signal);
		}
	}
	refused(answer, sent) {
		closeAttempt(this.sessionId);
		if (sent === null || answer.status === 404 || answer.code === "RATE_OFFER_EXPIRED") {
			this.fail(answer.code);
		} else if (answer.code === "SESSION_CHANGED") {
			void this.reload((before, now) => this.changeOf(before, now));
		} else if (answer.status === 409) {
			return false;
		} else if (answer.fields.includes("ContractId")) {
			void this.reload(() => this.say("savedGone"));
		} else {
			this.openForm(this.say(sent.StashId === void 0 ? "methodRefused" : "retype"));
		}
		return true;
	}
	arrived(progress, order) {
		switch (progress.State) {
			case "COMPLETED":
				this.succeed(progress);
				return true;
			case "FAILED":
			case "CANCELLED":
				this.fail(String(progress.ErrorCode));
				return true;
			case "CREATED":
				if (order !== null && progress.Attempt?.AttemptId !== order.AttemptId) return false;
				closeAttempt(this.sessionId);
				void this.retry(progress.Attempt);
				return true;
			case "REDIRECTED":
				if (progress.Checking !== true) this.showAway(progress, order !== null);
				else this.showChecking();
				return false;
			default:
				if (this.away !== "") this.cameBack();
				if (progress.Checking === true) this.showChecking();
				return false;
		}
	}
	async retry(attempt) {
		const failure = this.failureOf(attempt);
		await this.reload((before, now) => {
			const changed = before.Version !== now.Version && this.amountOf(before) !== this.amountOf(now);
			return [failure ?? this.failureOf(now.Attempt), changed && this.changeOf(before, now)].filter(Boolean).join(" ");
		});
		const { sent } = this;
		if (sent === null || this.phase !== "form") return;
		this.sent = null;
		if (sent === this.forms.chosen) sent.retry();
		this.tellEnabled();
	}
	failureOf(attempt) {
		if (attempt === void 0) return void 0;
		const key = `again.${attempt.ErrorCode}`;
		const text = this.say(key in this.texts.strings ? key : "again.other");
		return attempt.AttemptsLeft === 1 ? `${text} ${this.say("lastTry")}` : text;
	}
	watchExpiry() {
		clearTimeout(this.expiryTimer);
		const { ExpiresAt, ServerTime, State } = this.view;
		const left = State === "CREATED" && ExpiresAt && ServerTime ? Date.parse(ExpiresAt) - Date.parse(ServerTime) : NaN;
		this.expiry = Number.isNaN(left) ? Infinity : Date.now() + Math.max(left, 0) + EXPIRY_MS;
		if (this.expiry - Date.now() < MAX_TIMER_MS) this.expiryTimer = setTimeout(() => this.checkExpiry(), this.expiry - Date.now() + 1);
	}
	openForm(notice) {
		clearTimeout(this.slowTimer);
		this.phase = "form";
		this.setBusy(false);
		this.notify(notice ?? "");
	}
	notify(text) {
		this.forms.setNotice(this.byCard ? text : "");
		if (this.byCard && text !== "") whenDrawn(() => this.phase === "form" && announce(text));
		this.link.send({ type: "notice", text: this.byCard ? "" : text });
	}
	setBusy(busy, text = "") {
		if (busy) this.phase = "paying";
		this.forms.setBusy(busy);
		this.forms.rest(busy || this.resting);
		this.link.send({ type: "busy", busy, text });
		this.tellEnabled();
	}
	rest() {
		this.setResting(true);
		setTimeout(() => this.setResting(false), REST_MS);
	}
	setResting(resting) {
		this.resting = resting;
		this.forms.rest(resting || this.phase !== "form");
		this.tellEnabled();
	}
	showProcessing() {
		this.setBusy(true);
		this.showStatus("processing");
	}
	showStatus(what) {
		this.link.send({ type: "status", title: this.say(`${what}Title`), text: this.say(`${what}Text`) });
	}
	showChecking() {
		this.away = "";
		this.setBusy(true);
		this.showStatus("checking");
	}
	showAway({ RedirectUrl: url = "", Challenge: challenge = false, AttemptId = openAttempt(this.sessionId) }, now) {
		if (this.away === url) return;
		[this.away, this.awayAttempt] = [url, AttemptId];
		clearTimeout(this.slowTimer);
		this.setBusy(true);
		const what = challenge ? "challenge" : "away";
		this.link.send({ type: "away", title: this.say(`${what}Title`), text: this.say(`${what}Text`), url, challenge, now });
	}
	cameBack() {
		this.away = "";
		this.startSlowTimer();
		this.showProcessing();
	}
	succeed({ BankDetails: bank, OrderId: orderId = "", OrderState: state = "", PaymentMethod: method = "" }) {
		this.end();
		const what = bank ? "bank" : isFree(this.view) ? "saved" : "done";
		const text = this.say(`${what}Text`, { merchant: this.view.MerchantName });
		const details = bank ? detailsOf(this.texts.strings, this.locale.format, this.view, bank) : [];
		this.link.send({ type: "done", title: this.say(`${what}Title`), text, details, paid: { state, orderId, method } });
	}
	fail(code) {
		this.end();
		const text = this.texts.strings[`failed.${code}`] ?? this.say("failed.other");
		this.link.fail(code, "", this.say("failedTitle"), text);
	}
	end() {
		this.newFlow();
		clearTimeout(this.slowTimer);
		clearTimeout(this.expiryTimer);
		this.phase = "over";
		closeAttempt(this.sessionId);
		this.forms.clear();
		this.tellEnabled();
	}
	newFlow() {
		this.flow.abort();
		this.flow = new AbortController();
		this.away = "";
		this.startSlowTimer();
		return this.flow.signal;
	}
	startSlowTimer() {
		clearTimeout(this.slowTimer);
		this.slowTimer = setTimeout(() => this.phase === "paying" && this.showStatus("checking"), CHECKING_AFTER_MS);
	}
	amountOf(view) {
		return amountOf(view, this.locale.format);
	}
	say(key, values) {
		return say(this.texts.strings, key, values);
	}
	changeOf(before, now) {
		const [was, amount] = [this.amountOf(before), this.amountOf(now)];
		return this.say(was === amount ? "orderChanged" : "amountChanged", { was, amount });
	}
};
var CodeForm = class extends PayForm {
	constructor(strings, events, label, suffix, length) {
		super(strings, events, label, suffix);
		const mask = { max: () => length, show: (digits) => digits };
		const problem = (code2) => codeProblem(code2, length);
		const code = new Field({ id: "code", suffix, autocomplete: "cc-csc", mask, note: `notice${suffix}`, problem }, strings, events.changed, events.announce);
		code.setHint(say(strings, `codeHint${length}`));
		code.input.setAttribute("enterkeyhint", "go");
		this.fields = { code };
		this.fill(code.element);
	}
	read() {
		return { VerificationCode: this.fields.code.value };
	}
};
var Forms = class {
	constructor(card, draw2) {
		this.card = card;
		this.draw = draw2;
		this.contract = "";
		this.list = null;
		this.hidden = false;
	}
	get chosen() {
		return this.list?.forms.get(this.contract) ?? this.card;
	}
	get ticked() {
		return this.card.ticked;
	}
	get listed() {
		return this.list !== null;
	}
	async prepare({ SavedCards: [card] = [] }, newest) {
		if (this.list !== null || card === void 0) return;
		this.list = await (this.drawing ??= this.draw());
		if (newest && this.list !== null) this.contract = card.ContractId;
	}
	setOrder(view, amount, agreement, free) {
		this.card.setAgreement(agreement);
		this.list?.show(view);
		for (const form of this.all) form.setAmount(amount, free && form === this.card);
		this.hideButton(this.hidden);
		if (this.contract === "" || this.chosen !== this.card) return true;
		this.contract = "";
		return false;
	}
	open(open) {
		this.list?.open(open ? this.contract : null);
	}
	focusHeading() {
		this.list?.focus(this.contract);
	}
	hideButton(hidden) {
		this.hidden = hidden;
		for (const form of this.all) form.hideButton(hidden);
	}
	setBusy(busy) {
		this.list?.setBusy(busy);
		for (const form of this.all) form.setBusy(busy);
	}
	rest(resting) {
		for (const form of this.all) form.rest(resting);
	}
	setNotice(text) {
		for (const form of this.all) form.setNotice(form === this.chosen ? text : "");
	}
	clear() {
		for (const form of this.all) form.clear();
	}
	get all() {
		return [...this.list?.forms.values() ?? [], this.card];
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
		this.sent = "";
	}
	listen(heard) {
		this.port.onmessage = (event) => {
			if (isShellMessage(event.data)) heard(event.data);
		};
	}
	send(message) {
		this.port.postMessage(message);
	}
	sendEnabled(enabled, method) {
		if (this.sent === `${enabled} ${method}`) return;
		this.sent = `${enabled} ${method}`;
		this.send({ type: "enabled", enabled, method });
	}
	fail(code, cause, title, text) {
		const { lang, dir } = document.documentElement;
		this.send({ type: "fail", code, cause, title, text, lang, dir });
	}
};
var SECOND = "outcomes";
var Texts = class _Texts {
	constructor(api, held) {
		this.api = api;
		this.held = held;
		this.whole = false;
		this.strings = held;
	}
	static async load(api, address) {
		const answer = await api.strings(address, "pay");
		return answer.kind === "ok" ? new _Texts(api, answer.body) : null;
	}
	complete() {
		return this.loading ??= this.api.strings(this.strings[SECOND] ?? "", "doneTitle").then((answer) => this.add(answer));
	}
	add(answer) {
		this.whole = answer.kind === "ok";
		if (answer.kind === "ok") Object.assign(this.held, answer.body);
		else this.loading = void 0;
		return this.whole;
	}
};
var frame_default = "html{background-color:var(--d-content);overflow-y:hidden;-webkit-text-size-adjust:100%}body{margin:0}#app{padding:4px}form{display:grid;gap:10px}.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(110px,1fr));column-gap:14px}label{display:block;margin-block-end:6px;font-size:14px;font-weight:500}.box{position:relative}input{inline-size:100%;block-size:48px;padding-inline:14px;border:0 solid var(--d-input-line);border-width:var(--input--border-top-width,1px) var(--input--border-right-width,1px) var(--input--border-bottom-width,1px) var(--input--border-left-width,1px);border-radius:var(--d-input-radius);background-color:var(--d-input);color:var(--d-input-text);font:inherit;font-variant-numeric:tabular-nums}[dir=rtl] input[dir=ltr]{text-align:end}input::placeholder{color:inherit;opacity:.68}input:focus-visible{outline:2px solid var(--d-primary);outline-offset:1px;border-color:var(--d-primary)}input[aria-invalid]{border-color:var(--d-error);box-shadow:inset 0 0 0 1px var(--d-error);outline-color:var(--d-error)}input:read-only{opacity:.72}input:autofill{-webkit-text-fill-color:var(--d-input-text);box-shadow:inset 0 0 0 48px color-mix(in srgb,var(--d-primary) 10%,var(--d-input))}.box .icon,.box .mark{position:absolute;inset-block:0;inset-inline-end:10px;margin-block:auto;color:var(--d-input-text);pointer-events:none}.box .icon{opacity:.55}.number input{padding-inline-end:51px}.under{min-block-size:22px;padding-block-start:4px;font-size:13px;line-height:18px}label,.under{overflow-wrap:anywhere;-webkit-hyphens:auto;hyphens:auto;hyphenate-limit-chars:14}.hint{color:var(--d-muted)}.error{display:flex;gap:5px;color:var(--d-error)}.error .icon{inline-size:16px;block-size:16px;margin-block-start:1px;stroke-width:2.25}.agreement{color:var(--d-muted);font-size:13px;line-height:18px}.total{padding-block:8px 2px;font-weight:600}.choice{display:flex;align-items:flex-start;gap:10px}.choice label{margin:0;line-height:20px;cursor:pointer}.choice input{flex:none;inline-size:20px;block-size:20px;margin:0;accent-color:var(--d-primary);opacity:1;cursor:pointer}.choice input[aria-disabled]{opacity:.72;cursor:default}.choice:not([hidden])+.agreement{padding-block-start:4px;padding-inline-start:30px}";
var tokens_default = "[data-scheme]{color-scheme:light;--d-font:system-ui, sans-serif;--d-primary:var(--color-primary,#2b4acb);--d-hover:var(--color-hover,#2039a3);--d-header:var(--color-header,#fff);--d-content:var(--color-content,#fff);--d-text:var(--font-color,#1a2030);--d-muted:color-mix(in srgb, var(--d-text) 72%, transparent);--d-line:var(--accordion--border-color,#d5d9e2);--d-input:var(--input--background-color,#fff);--d-input-text:var(--input--font-color,#1a2030);--d-input-line:var(--input--border-color,#858d9f);--d-input-radius:var(--input--border-radius,8px);--d-button-radius:var(--button--border-radius,8px);--d-error:#b3261e;--d-good:#1b7a43;--d-notice:#fff6dc;--d-notice-line:#d9a514;--d-notice-text:#3d2f00;color:var(--d-text);font:400 16px/1.4 var(--d-font)}[data-scheme=dark]{color-scheme:dark;--d-primary:var(--color-primary,#9db4ff);--d-hover:var(--color-hover,#bccbff);--d-header:var(--color-header,#1b1f29);--d-content:var(--color-content,#1b1f29);--d-text:var(--font-color,#eceff6);--d-line:var(--accordion--border-color,#373e4d);--d-input:var(--input--background-color,#11141b);--d-input-text:var(--input--font-color,#eceff6);--d-input-line:var(--input--border-color,#798298);--d-error:#ffa199;--d-good:#7ddba0;--d-notice:#332a0d;--d-notice-line:#b98e1d;--d-notice-text:#ffeab3}*{box-sizing:border-box}p{margin:0}[hidden]{display:none!important}.unseen{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%)}.icon{inline-size:24px;block-size:24px;flex:none;fill:none;stroke:currentcolor;stroke-width:1.75;stroke-linecap:round;stroke-linejoin:round}.mark{display:grid;place-items:center;flex:none;inline-size:36px;block-size:24px;border-radius:4px;box-shadow:0 0 0 1px color-mix(in srgb,currentcolor 22%,transparent);direction:ltr}span.mark{inline-size:auto;padding-inline:6px;font-size:11px;font-weight:700}.notice{display:flex;gap:10px;margin-block:4px 12px;padding:12px 14px;border:1px solid var(--d-notice-line);border-radius:var(--d-input-radius);background-color:var(--d-notice);color:var(--d-notice-text);font-size:14px}.pay{display:flex;align-items:center;justify-content:center;gap:8px;inline-size:100%;min-block-size:52px;margin-block-start:4px;padding:10px 16px;border:1px solid transparent;border-radius:var(--d-button-radius);background-color:var(--d-primary);color:var(--d-on-primary,#fff);font:inherit;font-weight:600;cursor:pointer;transition:background-color .12s}.pay .icon{inline-size:18px;block-size:18px;stroke-width:2}.pay:hover{background-color:var(--d-hover);color:var(--d-on-hover,#fff)}.pay:focus-visible{outline:2px solid var(--d-primary);outline-offset:2px}.spinner{inline-size:18px;block-size:18px;border:2px solid;border-inline-end-color:transparent;border-radius:50%;animation:turn .9s linear infinite}.pay .spinner,[aria-busy=true] .lock{display:none}[aria-busy=true] .spinner{display:block}@keyframes turn{to{transform:rotate(1turn)}}@media(prefers-reduced-motion:reduce){*{transition:none!important;animation-duration:4s!important}}";
var SAVED_TIMEOUT_MS = 5e3;
var WORDS_TIMEOUT_MS = 3e3;
var CAUSES = {
	ORIGIN_NOT_ALLOWED: (origin) => `Pages of ${origin} may not embed the drop-in for this Session. Either the Session is another merchant's, or the origin is not registered: dropin merchant set MERCHANT_ID --origin ${origin} (repeat --origin for every origin of the shop: the list is replaced).`,
	SESSION_NOT_FOUND: (_origin, message) => `${message} Pass the SessionId that POST {base_url}/v1/session answered, of this deployment, as \`id\`.`,
	NO_PAYMENT_METHOD: () => "No payment method fits the Session's billing country, currency, amount and AutoCapture: GET {checkout_url}/v2.22/getPaymentMethods lists what does.",
	SERVICE_UNAVAILABLE: () => "The payment service did not answer. Its /readyz says why."
};
function embedded() {
	const text = document.getElementById("session")?.textContent ?? "";
	try {
		return JSON.parse(text);
	} catch {
		return { Code: "SERVICE_UNAVAILABLE", Message: "" };
	}
}
async function refuse({ origin }, link, texts, code, message = "") {
	const late = new Promise((resolve) => setTimeout(resolve, WORDS_TIMEOUT_MS, false));
	const strings = texts !== null && await Promise.race([texts.complete(), late]) ? texts.strings : {};
	const text = strings[`failed.${code}`] ?? strings["failed.other"] ?? "";
	link.fail(code, CAUSES[code]?.(origin, message) ?? message, strings["failedTitle"] ?? "", text);
}
var saved;
function savedPart() {
	const late = new Promise((resolve) => setTimeout(resolve, SAVED_TIMEOUT_MS, null));
	return saved ??= Promise.race([load(["./saved.js?40612cab416b","sha256-QGEsq0FrHId0bBCLFWIRA2tbLQmGbqDAs41/yjYzO4Y="], location.href).catch(() => null), late]);
}
function start(offer, link, api, sessionId, texts, view, locale) {
	const { strings } = texts;
	const schemes = view.PaymentMethods.filter(isCard);
	const events = { changed: () => checkout.tellEnabled(), submitted: () => void checkout.pay(), announce };
	const form = new CardForm(strings, schemes.map((method) => method.Id), events);
	let headingLevel;
	const forms = new Forms(form, async () => {
		const part2 = await savedPart();
		if (part2 === null || headingLevel === void 0) return null;
		const list = new part2.SavedCards(strings, cardEntry(strings, locale, schemes), form.element, {
			codeForm: (label, suffix, length) => new CodeForm(strings, events, label, suffix, length),
			brandNamed,
			drawingOf,
			announce,
			toggled: (contract) => checkout.toggle(contract),
			remove: (contract) => checkout.remove(contract),
			headingLevel
		});
		show(list.element);
		return list;
	});
	show(form.element);
	let begin = async () => {
		begin = async () => {
		};
		await forms.prepare(view, true);
		await checkout.start();
		watchHeight((height) => link.send({ type: "size", height }));
	};
	const checkout = new Checkout(api, sessionId, link, forms, texts, locale, view);
	link.listen((message) => {
		if (message.type === "setup") {
			forms.hideButton(message.hideSubmitButton);
			({ headingLevel } = message);
		} else if (message.type === "theme") applyTheme(document.documentElement, message.theme);
		else if (message.type === "select") {
			checkout.select(message.method);
			void begin();
		} else if (message.type === "another") void checkout.payAnotherWay();
		else if (message.type === "wallet") {
			const answered = load(["./wallet.js?4bfe2477640a","sha256-S/4kd2QKcZ3T23/QP0xToEjy3pid/dicFMVd7vH2OVs="], location.href).then((part2) => part2.answer(message.ask, view, offer.origin, link, checkout));
			answered.catch(() => link.send({ type: "wallet", session: {} }));
		} else void checkout.pay();
	});
	window.addEventListener("pageshow", (event) => {
		if (event.persisted) void checkout.reload();
	});
	document.addEventListener("visibilitychange", () => checkout.checkExpiry());
}
function dress() {
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(tokens_default + frame_default);
	document.adoptedStyleSheets = [sheet];
}
async function boot(script) {
	const offered = portOffer();
	dress();
	const query = new URLSearchParams(location.search);
	const sessionId = query.get("session") ?? "";
	const locale = resolveLocale([query.get("locale"), location.hash.slice(1), ...navigator.languages], Object.keys(FINGERPRINTS));
	document.documentElement.lang = locale.format;
	document.documentElement.dir = locale.direction;
	const api = new Api(baseOf(script), sessionId);
	const view = embedded();
	if ("State" in view && view.SavedCards?.length) void savedPart();
	const loading = Texts.load(api, `locales/${locale.tag}.json?${FINGERPRINTS[locale.tag]}`);
	const offer = await offered;
	const link = new Link(offer.port);
	link.send({ type: "hello" });
	const texts = await loading;
	if (texts === null) return refuse(offer, link, null, "SERVICE_UNAVAILABLE");
	if (!("State" in view)) return refuse(offer, link, texts, view.Code === "VALIDATION_ERROR" ? "SESSION_NOT_FOUND" : view.Code, view.Message);
	if (!view.MerchantOrigins.includes(offer.origin)) return refuse(offer, link, texts, "ORIGIN_NOT_ALLOWED");
	document.title = say(texts.strings, "frameTitle");
	if (view.State === "CREATED" && view.PaymentMethods.length === 0) return refuse(offer, link, texts, "NO_PAYMENT_METHOD");
	start(offer, link, api, sessionId, texts, view, locale);
}
void boot(document.currentScript.src);
})();
