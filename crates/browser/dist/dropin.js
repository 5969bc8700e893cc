// Dropin: dropin.js. Built from crates/browser/src by `npm run build`; do not edit.
(() => {
function baseOf(source) {
	const url = new URL(source);
	const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
	return new URL(folder ?? ".", url);
}
function isWebAddress(text) {
	return /^https?:\/\/[^\s/]/i.test(text);
}
var ENGLISH = ["The payment form did not load", "Check your connection and load this page again. If it happens again, please tell the shop."];
var nonce = document.currentScript?.nonce ?? "";
var PRELOAD_TIMEOUT_MS = 3e3;
async function load([address, integrity], base2) {
	const { href } = new URL(address, base2);
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
var PROTOCOL = 2;
var CARDS = "CARD";
var FRAME_SHAPES = {
	hello: {},
	ready: { model: {} },
	size: { height: 0 },
	choose: { open: true },
	enabled: { enabled: true, method: "" },
	busy: { busy: true, text: "" },
	notice: { text: "" },
	status: { title: "", text: "" },
	away: { title: "", text: "", url: "", challenge: true, now: true },
	wallet: { session: {} },
	done: { title: "", text: "", details: {}, paid: {} },
	fail: { code: "", cause: "", title: "", text: "", lang: "", dir: "" }
};
function matches(value, shapes) {
	const message = Object(value);
	const type = String(message["type"]);
	return Object.hasOwn(shapes, type) && Object.entries(shapes[type] ?? {}).every(([member, sample]) => typeof message[member] === typeof sample && message[member] !== null);
}
function isFrameMessage(value) {
	return matches(value, FRAME_SHAPES);
}
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
var DIAGNOSIS_TIMEOUT_MS = 800;
function watchPolicy(frame, found) {
	const blocked = (event) => {
		const ours = event.blockedURI.startsWith(frame.origin) && /^(?:frame|child|default)-src/.test(event.effectiveDirective);
		if (!ours || event.disposition !== "enforce") return;
		const cause = `This page's Content-Security-Policy (${event.effectiveDirective}) blocks the card form. Add ${frame.origin} to its frame-src directive: frame-src ${frame.origin}`;
		found({ code: "FRAME_BLOCKED", cause });
	};
	document.addEventListener("securitypolicyviolation", blocked);
	return () => document.removeEventListener("securitypolicyviolation", blocked);
}
async function diagnose(base2, session) {
	const { origin } = location;
	const register = `register the origin: dropin merchant set MERCHANT_ID --origin ${origin} (repeat --origin for every origin of the shop: the list is replaced)`;
	try {
		const address = new URL(`session/${encodeURIComponent(session)}/embeddable`, base2);
		const response = await fetch(address, { cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(DIAGNOSIS_TIMEOUT_MS) });
		if (response.status === 429 || response.status >= 500) return null;
		const { Code } = Object(await response.json());
		if (response.ok) {
			const cause2 = `The card form's script ${new URL("frame.js", base2).href} did not run. Look for a browser extension or a proxy that blocks or changes it.`;
			return { code: "SCRIPT_BLOCKED", cause: cause2 };
		}
		const mend = `Unless the Session is another merchant's, or another deployment's, ${register}`;
		if (Code === "ORIGIN_NOT_ALLOWED" || Code === "SESSION_NOT_FOUND") return { code: Code, cause: `${origin} may not embed the drop-in for Session ${session}. ${mend}` };
	} catch {
	}
	const cause = `The card form at ${base2.href} did not answer. Either the service is away (its /readyz says why), or the browser refused the frame: ${register}, and let the page's Content-Security-Policy admit frame-src ${base2.origin}`;
	return { code: "FRAME_UNAVAILABLE", cause };
}
var DARK = "(prefers-color-scheme: dark)";
function readTheme(host) {
	const style = getComputedStyle(host);
	const variables = {};
	for (const name of VARIABLES) {
		variables[name] = style.getPropertyValue(name).trim();
	}
	const [light, dark] = [/\blight\b/.test(style.colorScheme), /\bdark\b/.test(style.colorScheme)];
	const scheme = dark && (!light || matchMedia(DARK).matches) ? "dark" : "light";
	return { variables, scheme, font: style.fontFamily };
}
function watchTheme(host, check) {
	const media = matchMedia(DARK);
	const marks = new MutationObserver(check);
	for (let element = host; element !== null; element = element.parentElement) {
		marks.observe(element, { attributes: true, attributeFilter: ["class", "style", "data-theme", "data-color-scheme"] });
	}
	const size = new ResizeObserver(check);
	size.observe(host);
	media.addEventListener("change", check);
	window.addEventListener("load", check);
	return () => {
		marks.disconnect();
		size.disconnect();
		media.removeEventListener("change", check);
		window.removeEventListener("load", check);
	};
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
var LEAVE = "M14 4h6v6M20 4l-9 9M18 14v4a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h4";
var BANK = "m4 9 8-5 8 5zM6 12v5M10 12v5M14 12v5M18 12v5M4 20h16";
var LATER = "M5 6h14a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1zM4 10.5h16M8 3.5v4M16 3.5v4M12 13v3l2 1.5";
var CHEVRON = "m7 10 5 5 5-5";
var LOCK = "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z";
var WARNING = "M12 8v5M12 16.5v.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z";
var CHECK = "m6.5 12.5 4 4 7.5-9";
var CROSS = "m8 8 8 8M16 8l-8 8";
function say(strings, key, values = {}) {
	return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
function copyButton(detail, value, row, strings, announce) {
	const button = h("button", { type: "button", class: "plain", id: `copy-${row}`, "aria-labelledby": `copy-${row} label-${row}` }, say(strings, "copy"));
	button.addEventListener("click", async () => {
		try {
			await navigator.clipboard.writeText(detail.copy);
		} catch {
			return getSelection()?.selectAllChildren(value);
		}
		button.textContent = say(strings, "copied");
		announce(`${detail.label}: ${say(strings, "copied")}`);
	});
	return button;
}
function detailList(details, strings, announce) {
	const rows = details.map((detail, index) => {
		const row = String(index);
		const value = h("bdi", {}, detail.text);
		const button = detail.copy !== "" && isSecureContext ? copyButton(detail, value, row, strings, announce) : null;
		return h("div", {}, h("dt", { id: `label-${row}` }, detail.label), h("dd", {}, value, button));
	});
	return h("dl", {}, ...rows);
}
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
var accordion_default = '.entry,.status{overflow:hidden;border:0 solid var(--d-line);border-width:var(--accordion--border-top-width,1px) var(--accordion--border-right-width,1px) var(--accordion--border-bottom-width,1px) var(--accordion--border-left-width,1px);border-radius:inherit;background-color:var(--d-content)}.accordion{display:grid;gap:8px;border-radius:inherit}.head{position:relative;display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;min-block-size:60px;padding:10px 20px;padding-inline-end:52px;background-color:var(--d-header)}.title{font-weight:600;overflow-wrap:anywhere}.head .title{flex:1 1 auto;min-block-size:24px}.toggle{display:flex;align-items:center;gap:12px;padding:0;border:0;background:none;color:inherit;font:inherit;text-align:start;cursor:pointer}.toggle:after{content:"";position:absolute;inset:0}.toggle:focus-visible{outline:none}.toggle:focus-visible:after{outline:2px solid var(--d-primary);outline-offset:-4px;border-radius:var(--d-input-radius)}.method{inline-size:36px;color:var(--d-primary)}.chevron{position:absolute;inset-block:0;inset-inline-end:18px;margin-block:auto;color:var(--d-muted);transition:rotate .18s}[aria-expanded=true] .chevron{rotate:180deg}.head:hover .chevron{color:var(--d-hover)}.marks{display:flex;flex-wrap:wrap}.marks:empty{display:none}.marks{gap:6px}.toggle[aria-disabled]{cursor:default}.entry:has(.toggle[aria-disabled][aria-expanded=false]){opacity:.55}.head:has(.toggle[aria-disabled]) .chevron{visibility:hidden}.test{padding:2px 8px;border:1px solid var(--d-notice-line);border-radius:99px;background-color:var(--d-notice);color:var(--d-notice-text);font-size:12px;font-weight:600}@container (max-width: 420px){.head{align-content:start;padding-block:15px}.loading .head,.head:has(.marks .mark){min-block-size:84px}.marks{flex:1 0 100%;gap:4px;margin-inline-end:-32px;padding-inline-start:48px}.chevron{inset-block:15px auto}}.panel{display:grid;grid-template-rows:1fr;transition:grid-template-rows .22s,visibility .22s}.panel[inert]{grid-template-rows:0fr;visibility:hidden}.clip{overflow:hidden}.body{position:relative;padding:14px 20px 20px}.line{padding-block-end:12px;overflow-wrap:anywhere;text-wrap:pretty}.plain{min-block-size:32px;padding:4px 8px;border:0;border-radius:var(--d-button-radius);background:none;color:var(--d-primary);font:inherit;font-size:14px;cursor:pointer}.plain:hover{color:var(--d-hover);text-decoration:underline}.plain:focus-visible{outline:2px solid var(--d-primary);outline-offset:-2px}';
var tokens_default = "[data-scheme]{color-scheme:light;--d-font:system-ui, sans-serif;--d-primary:var(--color-primary,#2b4acb);--d-hover:var(--color-hover,#2039a3);--d-header:var(--color-header,#fff);--d-content:var(--color-content,#fff);--d-text:var(--font-color,#1a2030);--d-muted:color-mix(in srgb, var(--d-text) 72%, transparent);--d-line:var(--accordion--border-color,#d5d9e2);--d-input:var(--input--background-color,#fff);--d-input-text:var(--input--font-color,#1a2030);--d-input-line:var(--input--border-color,#858d9f);--d-input-radius:var(--input--border-radius,8px);--d-button-radius:var(--button--border-radius,8px);--d-error:#b3261e;--d-good:#1b7a43;--d-notice:#fff6dc;--d-notice-line:#d9a514;--d-notice-text:#3d2f00;color:var(--d-text);font:400 16px/1.4 var(--d-font)}[data-scheme=dark]{color-scheme:dark;--d-primary:var(--color-primary,#9db4ff);--d-hover:var(--color-hover,#bccbff);--d-header:var(--color-header,#1b1f29);--d-content:var(--color-content,#1b1f29);--d-text:var(--font-color,#eceff6);--d-line:var(--accordion--border-color,#373e4d);--d-input:var(--input--background-color,#11141b);--d-input-text:var(--input--font-color,#eceff6);--d-input-line:var(--input--border-color,#798298);--d-error:#ffa199;--d-good:#7ddba0;--d-notice:#332a0d;--d-notice-line:#b98e1d;--d-notice-text:#ffeab3}*{box-sizing:border-box}p{margin:0}[hidden]{display:none!important}.unseen{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%)}.icon{inline-size:24px;block-size:24px;flex:none;fill:none;stroke:currentcolor;stroke-width:1.75;stroke-linecap:round;stroke-linejoin:round}.mark{display:grid;place-items:center;flex:none;inline-size:36px;block-size:24px;border-radius:4px;box-shadow:0 0 0 1px color-mix(in srgb,currentcolor 22%,transparent);direction:ltr}span.mark{inline-size:auto;padding-inline:6px;font-size:11px;font-weight:700}.notice{display:flex;gap:10px;margin-block:4px 12px;padding:12px 14px;border:1px solid var(--d-notice-line);border-radius:var(--d-input-radius);background-color:var(--d-notice);color:var(--d-notice-text);font-size:14px}.pay{display:flex;align-items:center;justify-content:center;gap:8px;inline-size:100%;min-block-size:52px;margin-block-start:4px;padding:10px 16px;border:1px solid transparent;border-radius:var(--d-button-radius);background-color:var(--d-primary);color:var(--d-on-primary,#fff);font:inherit;font-weight:600;cursor:pointer;transition:background-color .12s}.pay .icon{inline-size:18px;block-size:18px;stroke-width:2}.pay:hover{background-color:var(--d-hover);color:var(--d-on-hover,#fff)}.pay:focus-visible{outline:2px solid var(--d-primary);outline-offset:2px}.spinner{inline-size:18px;block-size:18px;border:2px solid;border-inline-end-color:transparent;border-radius:50%;animation:turn .9s linear infinite}.pay .spinner,[aria-busy=true] .lock{display:none}[aria-busy=true] .spinner{display:block}@keyframes turn{to{transform:rotate(1turn)}}@media(prefers-reduced-motion:reduce){*{transition:none!important;animation-duration:4s!important}}";
var shell_default = ":host{display:block}.root{container-type:inline-size;border-radius:var(--accordion--border-radius,12px);background-color:var(--color-app,transparent);text-align:start;letter-spacing:normal;text-transform:none}.waiting .accordion,.root:not(.waiting) .status{display:none}.bare{overflow:visible;border:0;background:none}.bare>.head{display:none}.bare>.panel>.clip>.body{padding:0}.root>.notice{margin-block:0 12px}.body iframe{display:block;inline-size:calc(100% + 8px);block-size:375px;margin:-4px;border:0;color-scheme:inherit;transition:opacity .16s}.loading .body iframe{opacity:0}.skeleton{position:absolute;inset:14px 20px auto;display:grid;gap:32px}.root:not(.loading) .skeleton{display:none}.bones{display:grid;gap:8px}.two{display:grid;grid-template-columns:1fr 1fr;gap:14px}.bone{block-size:48px;border-radius:var(--d-input-radius);background-color:color-mix(in srgb,var(--d-text) 9%,transparent);animation:breathe 1.6s ease-in-out infinite}.label{inline-size:96px;block-size:16px}@keyframes breathe{50%{opacity:.5}}.end{display:grid;justify-items:center;gap:8px;padding:40px 24px 44px;text-align:center}[tabindex]:focus{outline:none}.end .title{font-size:20px}.end p{max-inline-size:min(44ch,100%);overflow-wrap:anywhere;color:var(--d-muted);text-wrap:pretty}.status .spinner{inline-size:36px;block-size:36px;margin-block-end:8px;border-width:3px;color:var(--d-primary)}.status .pay{inline-size:auto;margin-block-start:12px;padding-inline:28px}.badge{padding:14px;border-radius:50%;background-color:color-mix(in srgb,currentcolor 14%,transparent);line-height:0}.badge .icon{inline-size:28px;block-size:28px;stroke-width:2.5}.done .badge{color:var(--d-good)}.fail .badge{color:var(--d-error)}dl{inline-size:100%;margin:16px 0 0;text-align:start}dl div{padding-block:10px;border-block-start:1px solid var(--d-line)}dt{color:var(--d-muted);font-size:14px}dd{display:flex;justify-content:space-between;align-items:center;gap:12px;margin:0;font-weight:600}bdi{min-inline-size:0;overflow-wrap:anywhere}";
var sheet;
function styles() {
	if (sheet === void 0) {
		sheet = new CSSStyleSheet();
		sheet.replaceSync(tokens_default + accordion_default + shell_default);
	}
	return sheet;
}
function skeleton() {
	const bone = (name) => h("span", { class: `bone ${name}` });
	const field = () => h("span", { class: "bones" }, bone("label"), bone(""));
	const pair = h("span", { class: "two" }, field(), field());
	return h("div", { class: "skeleton", "aria-hidden": "true" }, field(), pair, field(), bone(""));
}
var View = class {
	constructor(source, events) {
		this.events = events;
		this.entries = new Map();
		this.accordion = h("div", { class: "accordion" });
		this.notice = h("div", { class: "notice", hidden: true });
		this.test = h("span", { class: "test", hidden: true });
		this.live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
		this.status = h("section", { class: "end status", tabindex: "-1", "aria-labelledby": "status" });
		this.turn = 0;
		this.strings = {};
		this.merchant = "";
		this.enabled = false;
		this.frame = h("iframe", { src: source, title: "Card details", referrerpolicy: "origin", scrolling: "no" });
		this.entryOf({ id: CARDS, icon: "card", drawing: "" }, [skeleton(), this.frame]).setOpen(true);
		this.element = h("div", { class: "root loading" }, this.notice, this.accordion, this.status, this.live);
	}
	mount(root) {
		root.adoptedStyleSheets = [styles()];
		root.replaceChildren(this.element);
	}
	loadAgain(tries) {
		const source = new URL(this.frame.src);
		source.searchParams.set("try", String(tries));
		this.frame.src = source.href;
	}
	setLoading(loading) {
		this.element.classList.toggle("loading", loading);
	}
	showModel(model) {
		this.strings = model.strings;
		this.merchant = model.view.MerchantName;
		this.speak(model.lang, model.dir);
		this.frame.title = model.frameTitle;
		this.test.textContent = model.testMode;
		this.test.hidden = model.testMode === "";
		this.showMethods(model.methods);
		this.entries.get(CARDS)?.setBare(model.listed);
	}
	speak(lang, dir) {
		this.element.lang = lang;
		this.element.dir = dir;
	}
	setSelected(method) {
		for (const [id, entry] of this.entries) entry.setOpen(id === method);
	}
	setBusy(busy, text) {
		for (const entry of this.entries.values()) entry.setBusy(busy);
		if (busy && text !== "") this.live.textContent = text;
		if (!busy) this.showMethodsAgain();
	}
	setEnabled(enabled) {
		this.enabled = enabled;
		for (const entry of this.entries.values()) entry.setEnabled(enabled);
	}
	setNotice(method, text) {
		setNotice(this.notice, method === "" ? text : "");
		for (const [id, entry] of this.entries) entry.setNotice(id === method ? text : "");
		if (text !== "") this.live.textContent = text;
	}
	setHeight(height) {
		this.frame.style.blockSize = `${height}px`;
	}
	showStatus(title, text, ways) {
		this.closeChallenge();
		if (ways === void 0 && this.isWaiting && this.status.querySelector(".title")?.textContent === title) return;
		const { focused } = this;
		const words = [this.title("status", title), h("p", {}, text)];
		const buttons = ways ? [this.wayOn("pay", "goOn", ways.goOn), this.wayOn("plain", "another", ways.another)] : [];
		this.status.replaceChildren(...ways ? [] : [h("span", { class: "spinner" })], ...words, ...buttons);
		this.element.classList.add("waiting");
		this.live.textContent = `${title}. ${text}`;
		if (focused) (buttons[0] ?? this.status).focus({ preventScroll: true });
	}
	title(id, text) {
		return heading(this.events.headingLevel, { id }, text);
	}
	wayOn(kind, text, pressed) {
		const button = h("button", { type: "button", class: kind }, say(this.strings, text));
		button.addEventListener("click", pressed);
		return button;
	}
	async openChallenge(source, elsewhere) {
		const turn = ++this.turn;
		const part = await load(["./dialog.js?464da2b887eb","sha256-Rk2iuIfrOU5qOmoNMG1S6L3sUjGGqug/vUVh4xNs9aM="], source).catch(() => null);
		if (turn !== this.turn || !this.element.isConnected) return;
		if (part === null) return elsewhere();
		this.challenge ??= new part.Challenge(this.element);
		this.challenge.open(source, this.element.lang, this.strings, elsewhere);
	}
	closeChallenge() {
		this.turn += 1;
		this.challenge?.close();
	}
	showEnd(kind, title, text, details, goOn) {
		this.closeChallenge();
		const { focused } = this;
		const badge = h("span", { class: "badge" }, icon("", kind === "done" ? CHECK : CROSS));
		const end = h("section", { class: `end ${kind}`, tabindex: "-1", "aria-labelledby": "end" }, badge, this.title("end", title), h("p", {}, text));
		if (details.length > 0) end.append(detailList(details, this.strings, (said) => this.live.textContent = said), this.wayOn("pay", "continue", goOn));
		this.setLoading(false);
		this.element.classList.remove("waiting");
		this.status.remove();
		this.notice.remove();
		this.accordion.replaceChildren(h("div", { class: "entry" }, end));
		this.live.textContent = `${title}. ${text}`;
		if (focused) end.focus({ preventScroll: true });
	}
	showThanks() {
		const merchant = this.merchant;
		this.showEnd("done", say(this.strings, "doneTitle"), say(this.strings, "doneText", { merchant }), [], () => {
		});
	}
	get isWaiting() {
		return this.element.classList.contains("waiting");
	}
	get focused() {
		return this.element.getRootNode().activeElement !== null;
	}
	showMethods(methods) {
		for (const method of methods) this.entryOf(method).show(method);
		for (const [id, entry] of this.entries) entry.element.hidden = !methods.some((method) => method.id === id);
		if (methods[0]) this.entryOf(methods[0]).tag(this.test);
	}
	entryOf(method, content) {
		const known = this.entries.get(method.id);
		if (known !== void 0) return known;
		const entry = new Entry(method, this.events, content);
		entry.setEnabled(this.enabled);
		this.entries.set(method.id, entry);
		this.accordion.append(entry.element);
		return entry;
	}
	showMethodsAgain() {
		this.closeChallenge();
		if (!this.isWaiting) return;
		const { focused } = this;
		this.element.classList.remove("waiting");
		const shown = [...this.entries.values()].filter(({ element }) => !element.hidden);
		const entry = shown.find(({ open }) => open) ?? shown[0];
		if (focused) (entry?.bare ? this.frame : entry?.toggle)?.focus({ preventScroll: true });
	}
};
var HANDSHAKE_MS = 35e3;
var HELLO_MS = 700;
var PAUSES_MS = [500, 1e3, 2e3];
var WORDS_TIMEOUT_MS = 1e3;
function tell(callback) {
	try {
		callback();
	} catch (error) {
		reportError(error);
	}
}
var canNest = () => !crossOriginIsolated || "credentialless" in HTMLIFrameElement.prototype;
var Dropin = class {
	constructor(host, root, options, base2, earlier) {
		this.host = host;
		this.root = root;
		this.options = options;
		this.base = base2;
		this.port = null;
		this.tries = 0;
		this.readySent = false;
		this.stopWatching = () => {
		};
		this.sentTheme = "";
		this.state = "loading";
		this.busy = false;
		this.enabled = false;
		this.change = "";
		this.retired = false;
		this.selected = earlier?.options.id === options.id ? earlier.selected : CARDS;
		const source = new URL("frame.html", base2);
		const lang = document.documentElement.lang;
		const locale = (options.locale ?? (lang || navigator.language)).replaceAll("-", "_");
		source.search = new URLSearchParams({ session: options.id, locale }).toString();
		source.hash = lang;
		const toggled = (method) => this.select(this.selected === method ? "" : method);
		const { hideSubmitButton, headingLevel } = options;
		this.view = new View(source.href, { toggled, pressed: () => this.submitPayment(), hideButtons: hideSubmitButton === true, headingLevel });
		this.view.frame.addEventListener("load", () => this.connect(source.origin));
		this.stopPolicy = watchPolicy(source, (diagnosis) => this.refuse(diagnosis));
		this.awaitFrame();
		this.view.mount(root);
		applyTheme(this.view.element, readTheme(host));
		this.watch();
	}
	submitPayment() {
		if (this.state === "ready" && this.selected !== "") this.send({ type: "submit" });
	}
	unselectPaymentMethod() {
		this.select("");
	}
	destroy() {
		this.retire();
		this.view.element.remove();
	}
	retire() {
		this.retired = true;
		this.stop();
	}
	stop() {
		this.state = "over";
		this.stopTimer();
		this.disconnect();
		this.stopPolicy();
		this.wallet?.abort();
	}
	disconnect() {
		clearTimeout(this.hello);
		this.stopWatching();
		this.port?.close();
		this.port = null;
	}
	connect(origin) {
		if (this.state === "over") return;
		this.disconnect();
		this.awaitFrame();
		this.state = "loading";
		this.view.setLoading(true);
		this.setEnabled(false);
		const channel = new MessageChannel();
		this.port = channel.port1;
		this.port.onmessage = (event) => {
			if (isFrameMessage(event.data)) this.heard(event.data);
		};
		const offer = { type: "dropin-port", protocol: PROTOCOL };
		this.view.frame.contentWindow?.postMessage(offer, origin, [channel.port2]);
		this.hello = setTimeout(() => void this.findCause(), HELLO_MS);
		const { hideSubmitButton, headingLevel } = this.options;
		this.send({ type: "setup", hideSubmitButton: hideSubmitButton === true, headingLevel });
		this.send({ type: "select", method: this.selected });
		this.sentTheme = "";
		this.relayTheme();
		this.watch();
	}
	async findCause() {
		const { port } = this;
		const diagnosis = await diagnose(this.base, this.options.id);
		if (this.hello === void 0 || this.state !== "loading" || this.port !== port || port === null) return;
		const pause = PAUSES_MS[this.tries++];
		if (diagnosis === null && pause !== void 0) {
			this.hello = setTimeout(() => this.view.loadAgain(this.tries), pause);
		} else {
			this.refuse(diagnosis ?? { code: "SERVICE_UNAVAILABLE", cause: "The payment service did not answer. Its /readyz says why." });
		}
	}
	refuse({ code, cause }) {
		if (this.state === "loading") this.fail(code, cause, "", "");
	}
	watch() {
		this.stopWatching = watchTheme(this.host, () => this.host.isConnected ? this.relayTheme() : this.leave());
	}
	awaitFrame() {
		this.timer ??= setTimeout(() => {
			const cause = `The card form at ${this.base.href} did not load within ${HANDSHAKE_MS / 1e3} seconds: the service or the way to it is too slow, or away.`;
			this.fail("FRAME_UNAVAILABLE", cause, "", "");
		}, HANDSHAKE_MS);
	}
	stopTimer() {
		clearTimeout(this.timer);
		this.timer = void 0;
	}
	leave() {
		this.stopTimer();
		this.stopPolicy();
		this.disconnect();
	}
	send(message) {
		this.port?.postMessage(message);
	}
	relayTheme() {
		const theme = readTheme(this.host);
		const now = JSON.stringify(theme);
		if (now === this.sentTheme) return;
		this.sentTheme = now;
		applyTheme(this.view.element, theme);
		this.send({ type: "theme", theme });
	}
	heard(message) {
		if (this.state === "over") return;
		this.wallet?.heard(message);
		switch (message.type) {
			case "hello":
				this.stopPolicy();
				clearTimeout(this.hello);
				this.hello = void 0;
				return;
			case "ready":
				return this.show(message.model);
			case "size":
				return this.view.setHeight(message.height);
			case "choose":
				return this.select(message.open ? CARDS : "");
			case "enabled":
				return this.setEnabled(message.enabled, message.method);
			case "busy":
				this.busy = message.busy;
				return this.view.setBusy(message.busy, message.text);
			case "notice":
				return this.view.setNotice(this.selected, message.text);
			case "status":
				return this.view.showStatus(message.title, message.text);
			case "away":
				this.view.showStatus(message.title, message.text, { goOn: () => this.goTo(message), another: () => this.send({ type: "another" }) });
				if (message.now) this.goTo(message);
				return;
			case "done":
				this.end("done", message.title, message.text, message.details);
				return tell(() => this.options.onSuccess(Object.freeze({ ...message.paid })));
			case "fail":
				if (message.title !== "") this.view.speak(message.lang, message.dir);
				return this.fail(message.code, message.cause, message.title, message.text);
		}
	}
	show(model) {
		this.stopTimer();
		const first = !this.readySent;
		this.state = "ready";
		this.view.setLoading(false);
		this.view.showModel(model);
		void this.offerWallet(model);
		const { methods } = model;
		const offered = this.selected === "" || methods.some(({ id }) => id === this.selected);
		if (!offered) this.choose(methods.length === 1 && methods[0]?.id || "");
		else this.view.setSelected(this.selected);
		if (first) {
			this.readySent = true;
			tell(() => this.options.onReady?.());
			if (this.state === "ready") this.setEnabled(this.enabled);
		}
	}
	async offerWallet(model) {
		if (model.view.TokenMethods?.length && "ApplePaySession" in window) {
			const part = await load(["./wallet.js?4bfe2477640a","sha256-S/4kd2QKcZ3T23/QP0xToEjy3pid/dicFMVd7vH2OVs="], this.base).catch(() => null);
			if (part !== null && this.state === "ready") this.wallet ??= new part.WalletButton(this.view.accordion, (ask) => this.send({ type: "wallet", ask }));
		}
		this.wallet?.show(model);
	}
	select(method) {
		if (this.state === "over" || this.busy || this.selected === method) return;
		this.choose(method);
	}
	choose(method) {
		this.selected = method;
		this.view.setSelected(method);
		this.send({ type: "select", method });
	}
	goTo({ url, challenge }) {
		const leave = () => {
			this.view.closeChallenge();
			if (isWebAddress(url)) location.assign(url);
		};
		if (!challenge || !canNest()) return leave();
		const source = new URL("challenge.html", this.base);
		source.search = new URLSearchParams({ session: this.options.id, ...crossOriginIsolated && { isolated: "1" } }).toString();
		void this.view.openChallenge(source, leave);
	}
	setEnabled(enabled, method = this.selected) {
		const change = { method: method || null, complete: enabled };
		const news = JSON.stringify(change);
		if (this.readySent && this.change !== news) {
			this.change = news;
			tell(() => this.options.onChange?.(change));
		}
		if (this.enabled === enabled) return;
		this.enabled = enabled;
		this.view.setEnabled(enabled);
		tell(() => this.options.onSubmitEnabledChange?.(enabled));
	}
	end(kind, title, text, details = []) {
		this.stop();
		this.watch();
		this.setEnabled(false);
		this.view.showEnd(kind, title, text, details, () => this.goOn());
	}
	goOn() {
		this.view.showThanks();
		tell(() => this.options.onContinue?.());
	}
	fail(errorCode, cause, title, text) {
		if (!this.host.isConnected) return this.leave();
		if (cause !== "") console.error(`Dropin: ${errorCode}: ${cause}`);
		if (text !== "") return this.endFailed(errorCode, title, text);
		this.stop();
		void this.ownWords().then((words) => {
			if (this.retired || !this.host.isConnected) return;
			this.view.speak(words.lang, words.dir);
			this.endFailed(errorCode, words.title, words.text);
		});
	}
	endFailed(errorCode, title, errorMessage) {
		this.end("fail", title, errorMessage);
		tell(() => this.options.onFailure?.({ errorCode, errorMessage }));
	}
	async ownWords() {
		const [title, text] = ENGLISH;
		const english = { lang: "en", dir: "ltr", title, text };
		const languages = [this.options.locale, document.documentElement.lang, ...navigator.languages].filter((language) => language !== void 0);
		if (/^en(?![a-z])/i.test(languages.find((language) => language !== "") ?? "")) return english;
		const late = new Promise((resolve) => setTimeout(resolve, WORDS_TIMEOUT_MS, null));
		const part = await Promise.race([load(["./fallback.js?e94db04ebdbd","sha256-6U2wTr29mSTiyUt51XvqR9GTLOkvSNBKPzo3TsFkqLs="], this.base).catch(() => null), late]);
		return part?.wordsIn(languages) ?? english;
	}
};
var KINDS = {
	target: "String",
	id: "String",
	onSuccess: "Function",
	onContinue: "function",
	onReady: "function",
	onChange: "function",
	onFailure: "function",
	hideSubmitButton: "boolean",
	onSubmitEnabledChange: "function",
	locale: "string",
	headingLevel: "number"
};
function complain(problem) {
	throw new TypeError(`dropin.init: ${problem}`);
}
function checkOptions(given) {
	const options = Object(given);
	for (const [name, kind] of Object.entries(KINDS)) {
		const value = options[name] ?? void 0;
		const required = /^[A-Z]/.test(kind);
		if (value === void 0 && !required) continue;
		if (typeof value !== kind.toLowerCase() || value === "") complain(`${name} must be a ${kind.toLowerCase()}${required ? "" : ", or left out"}`);
	}
	const { headingLevel = 1 } = options;
	if (!Number.isInteger(headingLevel) || headingLevel < 0 || headingLevel > 6) complain("headingLevel must be 1 to 6, or 0 for none");
	return options;
}
function levelBelow(target) {
	let level = 1;
	for (const heading2 of document.querySelectorAll("h1, h2, h3, h4, h5, h6, [role=heading][aria-level]")) {
		if (!(heading2.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
		level = Number(heading2.getAttribute("aria-level") ?? heading2.localName.slice(1)) || level;
	}
	return Math.min(level + 1, 6);
}
function findTarget(selector) {
	let target = null;
	try {
		target = document.querySelector(selector);
	} catch {
		complain(`target "${selector}" is not a CSS selector`);
	}
	return target ?? complain(`no element matches target "${selector}"; call init once the page has it`);
}
function isEmpty(target) {
	return target.childElementCount === 0 && target.textContent?.trim() === "";
}
var script = document.currentScript;
var base = script instanceof HTMLScriptElement && script.src !== "" ? baseOf(script.src) : null;
var running = new WeakMap();
function rootOf(target) {
	const earlier = running.get(target);
	if (!isEmpty(target) || earlier === void 0 && target.shadowRoot !== null) {
		complain("the target must be an empty element");
	}
	if (earlier === void 0) return target.attachShadow({ mode: "open" });
	earlier.retire();
	return earlier.root;
}
function init(given) {
	if (base === null) complain('load dropin.js by <script src="…/v1/dropin.js">, not as a module or inline');
	const options = checkOptions(given);
	const target = findTarget(options.target);
	const dropin = new Dropin(target, rootOf(target), { ...options, headingLevel: options.headingLevel ?? levelBelow(target) }, base, running.get(target));
	running.set(target, dropin);
	return Object.freeze({
		submitPayment: () => dropin.submitPayment(),
		unselectPaymentMethod: () => dropin.unselectPaymentMethod(),
		destroy: () => dropin.destroy()
	});
}
if (!("dropin" in window)) Object.defineProperty(window, "dropin", { value: Object.freeze({ init }) });
})();
