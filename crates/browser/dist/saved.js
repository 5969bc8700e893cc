// Dropin: saved.js. Built from crates/browser/src by `npm run build`; do not edit.
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
function setNotice(box, text) {
	box.hidden = text === "";
	box.replaceChildren(...text === "" ? [] : [icon("warning", WARNING), h("p", {}, text)]);
}
function payButton(type, text) {
	return h("button", { type, class: "pay" }, icon("lock", LOCK), h("span", { class: "spinner" }), text);
}
var CARD = "M5 5h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM3 10h18M7 15h3";
var LEAVE = "M14 4h6v6M20 4l-9 9M18 14v4a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h4";
var BANK = "m4 9 8-5 8 5zM6 12v5M10 12v5M14 12v5M18 12v5M4 20h16";
var LATER = "M5 6h14a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1zM4 10.5h16M8 3.5v4M16 3.5v4M12 13v3l2 1.5";
var CHEVRON = "m7 10 5 5 5-5";
var LOCK = "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z";
var WARNING = "M12 8v5M12 16.5v.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z";
var [WIDTH, HEIGHT] = [36, 24];
function draw(drawing, name) {
	if (drawing === "") return h("span", { class: "mark", "aria-hidden": "true" }, name);
	return svg("svg", { class: "mark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, ...drawing.split("|").map(shape));
}
function shape(text) {
	const [kind, color = "", ...rest] = text.split(" ");
	const fill3 = `#${color}`;
	const [a = "", b = "", c = "", d = "", words = ""] = rest;
	if (kind === "b") return svg("path", { fill: fill3, d: `M0 0h${WIDTH}v${HEIGHT}H0z` });
	if (kind === "c") return svg("circle", { fill: fill3, cx: a, cy: b, r: c });
	if (kind === "p") return svg("path", { fill: fill3, d: rest.join(" ") });
	return svg("text", { fill: fill3, x: a, y: b, textLength: c, "font-size": d, "font-weight": "700", lengthAdjust: "spacingAndGlyphs" }, words);
}
var ICONS = { card: CARD, leave: LEAVE, bank: BANK, later: LATER };
function heading(level, attributes, ...children) {
	return h("div", { class: "title", ...level > 0 && { role: "heading", "aria-level": String(level) }, ...attributes }, ...children);
}
var Entry = class {
	constructor({ id, icon: shape2, drawing }, events, content) {
		this.marks = h("span", { class: "marks", role: "img" });
		this.name = h("span", { class: "bone label" });
		this.line = h("p", { class: "line" });
		this.notice = h("div", { class: "notice", hidden: true });
		this.label = h("span");
		this.button = payButton("button", this.label);
		const key = id.toLowerCase();
		const panel = `${key}-panel`;
		const sign = drawing ? draw(drawing, "") : icon("method", ICONS[shape2]);
		this.toggle = h("button", { type: "button", class: "toggle", id: key, "aria-controls": panel }, sign, this.name, icon("chevron", CHEVRON));
		this.toggle.addEventListener("click", () => events.toggled(id));
		this.head = h("div", { class: "head" }, heading(events.headingLevel, {}, this.toggle), this.marks);
		this.button.addEventListener("click", events.pressed);
		this.button.hidden = events.hideButtons;
		const body = h("div", { class: "body" }, ...content ?? [this.line, this.notice, this.button]);
		this.panel = h("div", { id: panel, class: "panel", role: "group", "aria-labelledby": key }, h("div", { class: "clip" }, body));
		this.element = h("div", { class: "entry" }, this.head, this.panel);
		this.setOpen(false);
	}
	show(method) {
		this.setName(method.name);
		this.marks.setAttribute("aria-label", method.accepted);
		this.marks.replaceChildren(...method.marks.map(([drawing, name]) => draw(drawing, name)));
		this.line.textContent = method.line;
		this.label.textContent = method.button;
	}
	setName(...name) {
		this.name.className = "";
		this.name.replaceChildren(...name.map((part) => part ?? ""));
	}
	get open() {
		return this.toggle.getAttribute("aria-expanded") === "true";
	}
	setBare(bare) {
		this.element.classList.toggle("bare", bare);
		this.setOpen(this.open);
	}
	get bare() {
		return this.element.classList.contains("bare");
	}
	tag(word) {
		this.marks.before(word);
	}
	setOpen(open) {
		this.toggle.setAttribute("aria-expanded", String(open));
		this.panel.inert = !open && !this.bare;
	}
	setBusy(busy) {
		setState(this.toggle, "aria-disabled", busy);
		setState(this.button, "aria-busy", busy);
	}
	setEnabled(enabled) {
		setState(this.button, "aria-disabled", !enabled);
	}
	setNotice(text) {
		setNotice(this.notice, text);
	}
};
function say(strings, key, values = {}) {
	return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
function addStyles(place, css) {
	const root = place.getRootNode();
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(css);
	root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
var accordion_default = '.entry,.status{overflow:hidden;border:0 solid var(--d-line);border-width:var(--accordion--border-top-width,1px) var(--accordion--border-right-width,1px) var(--accordion--border-bottom-width,1px) var(--accordion--border-left-width,1px);border-radius:inherit;background-color:var(--d-content)}.accordion{display:grid;gap:8px;border-radius:inherit}.head{position:relative;display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;min-block-size:60px;padding:10px 20px;padding-inline-end:52px;background-color:var(--d-header)}.title{font-weight:600;overflow-wrap:anywhere}.head .title{flex:1 1 auto;min-block-size:24px}.toggle{display:flex;align-items:center;gap:12px;padding:0;border:0;background:none;color:inherit;font:inherit;text-align:start;cursor:pointer}.toggle:after{content:"";position:absolute;inset:0}.toggle:focus-visible{outline:none}.toggle:focus-visible:after{outline:2px solid var(--d-primary);outline-offset:-4px;border-radius:var(--d-input-radius)}.method{inline-size:36px;color:var(--d-primary)}.chevron{position:absolute;inset-block:0;inset-inline-end:18px;margin-block:auto;color:var(--d-muted);transition:rotate .18s}[aria-expanded=true] .chevron{rotate:180deg}.head:hover .chevron{color:var(--d-hover)}.marks{display:flex;flex-wrap:wrap}.marks:empty{display:none}.marks{gap:6px}.toggle[aria-disabled]{cursor:default}.entry:has(.toggle[aria-disabled][aria-expanded=false]){opacity:.55}.head:has(.toggle[aria-disabled]) .chevron{visibility:hidden}.test{padding:2px 8px;border:1px solid var(--d-notice-line);border-radius:99px;background-color:var(--d-notice);color:var(--d-notice-text);font-size:12px;font-weight:600}@container (max-width: 420px){.head{align-content:start;padding-block:15px}.loading .head,.head:has(.marks .mark){min-block-size:84px}.marks{flex:1 0 100%;gap:4px;margin-inline-end:-32px;padding-inline-start:48px}.chevron{inset-block:15px auto}}.panel{display:grid;grid-template-rows:1fr;transition:grid-template-rows .22s,visibility .22s}.panel[inert]{grid-template-rows:0fr;visibility:hidden}.clip{overflow:hidden}.body{position:relative;padding:14px 20px 20px}.line{padding-block-end:12px;overflow-wrap:anywhere;text-wrap:pretty}.plain{min-block-size:32px;padding:4px 8px;border:0;border-radius:var(--d-button-radius);background:none;color:var(--d-primary);font:inherit;font-size:14px;cursor:pointer}.plain:hover{color:var(--d-hover);text-decoration:underline}.plain:focus-visible{outline:2px solid var(--d-primary);outline-offset:-2px}';
var Removal = class {
	constructor(strings, card, merchant, remove, announce) {
		this.strings = strings;
		this.remove = remove;
		this.announce = announce;
		this.error = h("p", { class: "error", hidden: true });
		this.busy = false;
		const button = (kind, key, pressed) => {
			const element = h("button", { type: "button", class: `plain ${kind}`, id: `${key}-${card}`, "aria-labelledby": `${key}-${card} ${card}` }, say(strings, key));
			element.addEventListener("click", () => this.busy || pressed());
			return element;
		};
		this.begin = button("begin", "remove", () => this.ask());
		this.no = button("", "removeNo", () => this.keep());
		this.yes = button("yes", "removeYes", () => void this.confirm());
		const title = h("p", { class: "title", id: `removeTitle-${card}` }, say(strings, "removeTitle"));
		const text = h("p", { id: `removeText-${card}` }, say(strings, "removeText", { merchant }));
		const names = { "aria-labelledby": title.id, "aria-describedby": text.id };
		this.question = h("div", { class: "question", role: "group", hidden: true, ...names }, title, text, this.error, h("div", { class: "answers" }, this.no, this.yes));
		this.question.addEventListener("keydown", (event) => event.key === "Escape" && !this.busy && this.keep());
		this.element = h("div", { class: "removal" }, this.begin, this.question);
	}
	reset() {
		this.show(false);
	}
	setBusy(busy) {
		this.busy = busy;
		for (const button of [this.begin, this.no, this.yes]) setState(button, "aria-disabled", busy);
	}
	ask() {
		this.show(true);
		this.no.focus();
	}
	keep() {
		this.show(false);
		this.begin.focus();
	}
	show(asked) {
		this.question.hidden = !asked;
		this.begin.hidden = asked;
		this.error.hidden = true;
	}
	async confirm() {
		this.setBusy(true);
		this.error.hidden = true;
		if (await this.remove()) return;
		this.setBusy(false);
		const text = say(this.strings, "notRemoved");
		this.error.textContent = text;
		this.error.hidden = false;
		this.announce(text);
	}
};
var saved_default = "html{background-color:transparent}#app{container-type:inline-size;border-radius:var(--accordion--border-radius,12px)}.panel{transition:none}.toggle bdi{white-space:nowrap}.until{color:var(--d-muted);font-weight:400}.saved .code{max-inline-size:240px}@container (max-width: 420px){.saved .head .title{flex-basis:100%}.saved .test{margin-inline-start:48px}}.removal{padding-block-start:8px;text-align:center}.question{padding:14px 16px;border:1px solid var(--d-line);border-radius:var(--d-input-radius);font-size:14px;text-align:start}.question p:not(.title,.error){color:var(--d-muted)}.question .error{padding-block-start:8px}.answers{display:flex;flex-wrap:wrap;gap:8px;padding-block-start:12px}.answers .plain{flex:1;min-block-size:44px;border:1px solid var(--d-input-line);color:inherit;font-weight:500}.answers .yes{border-color:currentcolor;color:var(--d-error)}";
function fill2(text, nodes) {
	return text.split(/\{(\w+)\}/).map((part, index) => index % 2 === 1 ? nodes[part] ?? null : part);
}
var SavedCards = class {
	constructor(strings, card, form, frame) {
		this.strings = strings;
		this.card = card;
		this.frame = frame;
		this.element = h("div", { class: "accordion" });
		this.forms = new Map();
		this.shown = new Map();
		this.test = h("span", { class: "test" });
		addStyles(form, accordion_default + saved_default);
		this.test.textContent = say(strings, "testMode");
		this.element.append(this.add("", card, form, null).element);
	}
	show(view) {
		const { SavedCards: cards = [] } = view;
		for (const contract of this.forms.keys()) if (!cards.some(({ ContractId }) => ContractId === contract)) this.drop(contract);
		const last = this.shown.get("")?.entry;
		for (const card of cards) if (!this.forms.has(card.ContractId)) last?.element.before(this.entryOf(card, view));
		last?.setName(cards.length > 0 ? say(this.strings, "otherCard") : this.card.name);
		this.test.hidden = !view.Sandbox;
		this.shown.get(cards[0]?.ContractId ?? "")?.entry.tag(this.test);
	}
	open(contract) {
		for (const [id, { entry, removal }] of this.shown) {
			entry.setOpen(id === contract);
			if (id !== contract) removal?.reset();
		}
	}
	setBusy(busy) {
		for (const { entry, removal } of this.shown.values()) {
			entry.setBusy(busy);
			removal?.setBusy(busy);
		}
	}
	focus(contract) {
		this.shown.get(contract)?.entry.toggle.focus();
	}
	drop(contract) {
		this.shown.get(contract)?.entry.element.remove();
		this.shown.delete(contract);
		this.forms.delete(contract);
	}
	entryOf({ ContractId, PaymentMethod, Last4: last4, Expiry, Removable }, { PaymentMethods, MerchantName }) {
		const { frame, strings } = this;
		const brand = frame.brandNamed(PaymentMethod);
		const name = PaymentMethods.find(({ Id }) => Id === PaymentMethod)?.Name ?? brand?.name ?? PaymentMethod;
		const expiry = Expiry.replace(/^\d\d(\d\d)-(\d\d)$/, "$2/$1");
		const spoken = say(strings, "savedSpoken", { name, last4, expiry });
		const id = `saved-${ContractId}`;
		const form = frame.codeForm(spoken, `-${ContractId}`, brand?.codeLength ?? 3);
		const removal = Removable ? new Removal(strings, id, MerchantName, () => frame.remove(ContractId), frame.announce) : null;
		const method = { id, icon: "card", drawing: frame.drawingOf(PaymentMethod), name, marks: [], accepted: "", line: "", button: "" };
		const entry = this.add(ContractId, method, form.element, removal);
		const number = h("bdi", { dir: "ltr" }, `•••• ${last4}`);
		const shown = fill2(say(strings, "savedCard"), { name: h("bdi", {}, name), number, expiry: h("bdi", { class: "until", dir: "ltr" }, expiry) });
		entry.setName(h("span", { "aria-hidden": "true" }, ...shown), h("span", { class: "unseen" }, spoken));
		entry.element.classList.add("saved");
		this.forms.set(ContractId, form);
		return entry.element;
	}
	add(contract, method, form, removal) {
		const { toggled, headingLevel } = this.frame;
		const events = { toggled: () => toggled(contract), pressed: () => {
		}, hideButtons: true, headingLevel };
		const entry = new Entry(method, events, [form, removal && removal.element]);
		entry.show(method);
		this.shown.set(contract, { entry, removal });
		return entry;
	}
};
export {
	SavedCards
};
