// Dropin: frame.js. Built from crates/browser/src by `npm run build`; do not edit.
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
	// src/shared/strings.ts
	function say(strings, key, values = {}) {
		return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
	}
	// src/shared/theme.ts
	function box(part) {
		return ["color", "radius", "top-width", "right-width", "bottom-width", "left-width"].map((what) => `--${part}--border-${what}`);
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
	}
	function inkOn(background) {
		const [r = 0, g = 0, b = 0] = (/^rgba?\((.*)\)$/.exec(background)?.[1] ?? "").split(/[\s,/]+/).map((channel) => (Number(channel) / 255) ** 2.2);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.185 ? "#11151c" : "#fff";
	}
	// src/frame/api.ts
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
		progress(waitSeconds, signal) {
			return this.call(`${this.session}/progress?wait=${waitSeconds}`, {}, waitSeconds + 10, signal, "State");
		}
		submit(order, signal) {
			const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(order), keepalive: true };
			return this.call(`${this.session}/submit`, request, 30, signal, "State");
		}
		stash(view, order, card, signal) {
			const address = `${view.StashUrl}/${view.MerchantId}/${order.StashId}`;
			const body = new URLSearchParams({ DeviceFingerprint: order.DeviceFingerprint, card: JSON.stringify(card) });
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
	// src/frame/brands.ts
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
		const asPrinted = id === "AMEX" || id === "DINERS" ? [4, 10] : FOURS;
		const codeLength = id === "AMEX" ? 4 : 3;
		return { id, name, mark, lengths: lengths.split(" ").map(Number), gaps: asPrinted, codeLength, prefixes: prefixes.split(" ") };
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
	function icon(name, d) {
		const path = fill(document.createElementNS(SVG, "path"), { d }, []);
		return fill(document.createElementNS(SVG, "svg"), { class: `icon ${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, [path]);
	}
	var CARD = "M5 5h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM3 10h18M7 15h3";
	var LOCK = "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z";
	var WARNING = "M12 8v5M12 16.5v.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z";
	// src/frame/mask.ts
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
			if (text === null) this.input.removeAttribute("aria-invalid");
			else this.input.setAttribute("aria-invalid", "true");
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
	// src/frame/card-form.ts
	var LONGEST_NUMBER2 = 19;
	var NUMBER_MASK = {
		most: (digits) => brandOf(digits)?.lengths.at(-1) ?? LONGEST_NUMBER2,
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
			this.button = h("button", { type: "submit", class: "pay" }, icon("lock", LOCK), h("span", { class: "spinner" }), this.buttonText);
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
			if (resting) this.button.setAttribute("aria-disabled", "true");
			else this.button.removeAttribute("aria-disabled");
		}
		setNotice(text) {
			this.notice.hidden = text === null;
			this.notice.replaceChildren(...text === null ? [] : [icon("warning", WARNING), h("p", {}, text)]);
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
				expiry: make("expiry", "cc-exp", (value) => expiryProblem(value, /* @__PURE__ */ new Date()), EXPIRY_MASK, say(strings, "expiryPlaceholder")),
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
	// src/frame/memory.ts
	var kept = /* @__PURE__ */ new Map();
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
	// src/frame/money.ts
	function formatAmount(amount, currency, minorUnits, locale) {
		const digits = { minimumFractionDigits: minorUnits, maximumFractionDigits: minorUnits };
		return new Intl.NumberFormat(locale, { style: "currency", currency, ...digits }).format(amount);
	}
	// src/frame/checkout.ts
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
			this.phase = "paying";
			this.flow = new AbortController();
			this.selected = true;
			this.resting = false;
		}
		get form() {
			return this.screen.form;
		}
		begin(notice) {
			this.form.setAmount(this.amountOf(this.view));
			if (this.view.State === "CREATED") this.openForm(notice);
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
		async stash(card, order, signal) {
			const answer = await this.api.stash(this.view, order, card, signal);
			if (signal.aborted) return false;
			if (answer.kind === "ok" && answer.body.Warnings.length === 0) return true;
			closeAttempt(this.sessionId);
			const names = answer.kind === "ok" ? answer.body.Warnings.flatMap((warning) => WARNED[warning] ?? []) : [];
			this.openForm(names.length > 0 ? void 0 : say(this.strings, answer.kind === "unreachable" ? "notSent" : "retype"));
			if (names.length > 0) this.form.refuse(names);
			return false;
		}
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
				case "CREATED":
					if (order === null) void this.reload();
					return order === null;
				default:
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
			this.form.rest(busy || this.resting);
			this.link.send({ type: "busy", busy });
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
			this.screen.showStatus(say(this.strings, "processingTitle"), say(this.strings, "processingText"));
		}
		showChecking() {
			this.screen.showStatus(say(this.strings, "checkingTitle"), say(this.strings, "checkingText"));
		}
		fail(code, message = "") {
			this.end();
			const text = this.strings[`failed.${code}`] ?? say(this.strings, "failed.other");
			this.link.fail(code, message, say(this.strings, "failedTitle"), text);
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
	var SHELL_SHAPES = {
		setup: { hideSubmitButton: "boolean" },
		theme: { theme: "object" },
		select: { selected: "boolean" },
		submit: {}
	};
	function matches(value, shapes) {
		const message = Object(value);
		const type = String(message["type"]);
		return Object.hasOwn(shapes, type) && Object.entries(shapes[type] ?? {}).every(([member, kind]) => typeof message[member] === kind && message[member] !== null);
	}
	function isPortOffer(value) {
		const offer = Object(value);
		return offer.type === "dropin-port" && offer.protocol === PROTOCOL;
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
	// src/frame/screen.ts
	var Screen = class {
		constructor(form) {
			this.form = form;
			this.title = h("h2");
			this.text = h("p");
			this.app = document.getElementById("app");
			this.live = document.getElementById("live");
			this.status = h("section", { class: "status", hidden: true }, h("span", { class: "spinner" }), this.title, this.text);
			this.app.append(form.element, this.status);
		}
		showForm() {
			this.form.element.hidden = false;
			this.status.hidden = true;
		}
		showStatus(title, text) {
			if (!this.status.hidden && this.title.textContent === title) return;
			this.form.element.hidden = true;
			this.status.hidden = false;
			this.title.textContent = title;
			this.text.textContent = text;
			this.announce(`${title}. ${text}`);
		}
		announce(message) {
			this.live.textContent = this.live.textContent === message ? `${message} ` : message;
		}
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
	function refuse(offer, strings, code, message) {
		const text = strings[`failed.${code}`] ?? strings["failed.other"] ?? "";
		new Link(offer.port).fail(code, message, strings["failedTitle"] ?? "", text);
	}
	function inkButtons() {
		const { style } = document.documentElement;
		const probe = document.body.appendChild(document.createElement("i"));
		for (const name of ["primary", "hover"]) {
			probe.style.backgroundColor = `var(--d-${name})`;
			style.setProperty(`--d-on-${name}`, inkOn(getComputedStyle(probe).backgroundColor));
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
		const link = new Link(offer.port);
		const form = new CardForm(strings, methods.map((method) => method.Id), {
			changed: () => checkout.tellEnabled(),
			submitted: () => void checkout.pay(),
			announce: (message) => screen.announce(message)
		});
		const screen = new Screen(form);
		const checkout = new Checkout(api, sessionId, link, screen, strings, locale.format, view);
		link.listen((message) => {
			if (message.type === "setup") form.hideButton(message.hideSubmitButton);
			else if (message.type === "theme") applyTheme(document.documentElement, message.theme), inkButtons();
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
		if (!view.body.PaymentMethods.some(isCard)) return refuse(offer, strings, "NO_PAYMENT_METHOD", "No payment method fits the Session's country and currency.");
		start(offer, api, sessionId, strings, view.body, locale);
	}
	void boot(document.currentScript.src);
})();
