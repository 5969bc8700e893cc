// Dropin: dialog.js. Built from crates/browser/src by `npm run build`; do not edit.
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
function icon(name, d) {
	return svg("svg", { class: `icon ${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d }));
}
var CROSS = "m8 8 8 8M16 8l-8 8";
function addStyles(place, css) {
	const root = place.getRootNode();
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(css);
	root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
function say(strings, key, values = {}) {
	return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
var dialog_default = ".challenge{inline-size:560px;block-size:680px;max-inline-size:calc(100vw - 32px);max-block-size:calc(100dvh - 32px);padding:0;border:1px solid var(--d-line);border-radius:min(var(--accordion--border-radius,12px),12px);background-color:var(--d-content);color:inherit}.challenge[open]{display:grid;grid-template-rows:auto 1fr auto}.challenge::backdrop{background-color:#0000008c}header{display:flex;align-items:center;justify-content:space-between;gap:12px;padding-block:10px;padding-inline:20px 12px}.close{flex:none;padding:10px;line-height:0}.challenge iframe{inline-size:100%;block-size:100%;border:0;background-color:#fff}.challenge .plain{min-block-size:44px}@media(max-width:560px){.challenge{inline-size:100vw;block-size:100dvh;max-inline-size:none;max-block-size:none;border:0;border-radius:0}}";
var ALLOW = "publickey-credentials-get *; payment *";
var Challenge = class {
	constructor(place) {
		this.element = h("dialog", { class: "challenge", "aria-labelledby": "challenge" });
		addStyles(place, dialog_default);
		place.append(this.element);
		this.element.addEventListener("close", () => {
			if (!this.element.open) this.element.replaceChildren();
		});
	}
	open(source, lang, strings, elsewhere) {
		const name = say(strings, "challengeTitle");
		source.hash = new URLSearchParams({ lang, title: name }).toString();
		const title = h("div", { class: "title", id: "challenge", tabindex: "-1", autofocus: true }, name);
		const close = h("button", { type: "button", class: "plain close", "aria-label": say(strings, "close") }, icon("", CROSS));
		const frame = h("iframe", { src: source.href, title: name, allow: ALLOW });
		const leave = h("button", { type: "button", class: "plain" }, say(strings, "elsewhere"));
		close.addEventListener("click", () => this.element.close());
		leave.addEventListener("click", elsewhere);
		this.element.replaceChildren(h("header", {}, title, close), frame, leave);
		if (!this.element.open) this.element.showModal();
	}
	close() {
		this.element.close();
	}
};
export {
	Challenge
};
