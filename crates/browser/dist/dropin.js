// Dropin: dropin.js. Built from crates/browser/src by `npm run build`; do not edit.
(() => {
	// src/shared/address.ts
	function baseOf(source) {
		const url = new URL(source);
		const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
		return new URL(folder ?? ".", url);
	}
	// src/shared/protocol.ts
	var PROTOCOL = 1;
	var FRAME_SHAPES = {
		ready: { face: "object" },
		size: { height: "number" },
		enabled: { enabled: "boolean" },
		busy: { busy: "boolean" },
		done: { title: "string", text: "string" },
		fail: { code: "string", message: "string", title: "string", text: "string", lang: "string", dir: "string" }
	};
	function matches(value, shapes) {
		const message = Object(value);
		const type = String(message["type"]);
		return Object.hasOwn(shapes, type) && Object.entries(shapes[type] ?? {}).every(([member, kind]) => typeof message[member] === kind && message[member] !== null);
	}
	function isFrameMessage(value) {
		return matches(value, FRAME_SHAPES);
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
	// src/shell/theme.ts
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
	var CHEVRON = "m7 10 5 5 5-5";
	var CHECK = "m6.5 12.5 4 4 7.5-9";
	var CROSS = "m8 8 8 8M16 8l-8 8";
	// src/shell/shell.css
	var shell_default = `:host { display: block; }
.root {
	container-type: inline-size;
	border-radius: var(--accordion--border-radius, 12px);
	background-color: var(--color-app, transparent);
	text-align: start;
	letter-spacing: normal;
	text-transform: none;
}
.entry {
	overflow: hidden;
	border: 0 solid var(--d-line);
	border-width:
		var(--accordion--border-top-width, 1px) var(--accordion--border-right-width, 1px)
		var(--accordion--border-bottom-width, 1px) var(--accordion--border-left-width, 1px);
	border-radius: inherit;
	background-color: var(--d-content);
}
.accordion { border-radius: inherit; }
.head {
	position: relative;
	display: flex;
	flex-wrap: wrap;
	align-items: center;
	gap: 6px 10px;
	min-block-size: 60px;
	padding: 10px 20px;
	padding-inline-end: 52px;
	background-color: var(--d-header);
}
h3 { margin: 0; font: inherit; font-weight: 600; }
.head h3 { flex: 1; min-block-size: 24px; }
#card { display: flex; align-items: center; gap: 12px; padding: 0; border: 0; background: none; color: inherit; font: inherit; cursor: pointer; }
#card::after { content: ""; position: absolute; inset: 0; }
#card:focus-visible { outline: none; }
#card:focus-visible::after { outline: 2px solid var(--d-primary); outline-offset: -4px; border-radius: var(--d-input-radius); }
.card { color: var(--d-primary); }
.chevron { position: absolute; inset-block: 0; inset-inline-end: 18px; margin-block: auto; color: var(--d-muted); transition: rotate 180ms; }
[aria-expanded="true"] .chevron { rotate: 180deg; }
.head:hover .chevron { color: var(--d-hover); }
.marks { display: flex; flex-wrap: wrap; gap: 4px; }
.marks .mark { background-color: var(--d-content); }
.test {
	padding: 2px 8px;
	border: 1px solid var(--d-notice-line);
	border-radius: 99px;
	background-color: var(--d-notice);
	color: var(--d-notice-text);
	font-size: 12px;
	font-weight: 600;
}
@container (max-width: 420px) {
	.head { min-block-size: 84px; align-content: start; padding-block: 15px; padding-inline-end: 20px; }
	.marks { flex-basis: 100%; padding-inline-start: 36px; }
	.chevron { inset-block: 15px auto; }
	.test { margin-inline-end: 32px; }
}
.panel { display: grid; grid-template-rows: 1fr; transition: grid-template-rows 220ms, visibility 220ms; }
.panel[inert] { grid-template-rows: 0fr; visibility: hidden; }
.clip { overflow: hidden; }
.body { position: relative; padding: 14px 20px 20px; }
iframe {
	display: block;
	inline-size: calc(100% + 8px);
	block-size: 375px;
	margin: -4px;
	border: 0;
	color-scheme: inherit;
	transition: opacity 160ms;
}
.loading iframe { opacity: 0; }
.skeleton { position: absolute; inset: 14px 20px auto; display: grid; gap: 32px; }
.root:not(.loading) .skeleton { display: none; }
.bones { display: grid; gap: 8px; }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 14px; }
.bone {
	block-size: 48px;
	border-radius: var(--d-input-radius);
	background-color: color-mix(in srgb, var(--d-text) 9%, transparent);
	animation: breathe 1.6s ease-in-out infinite;
}
.label { inline-size: 96px; block-size: 16px; }
@keyframes breathe { 50% { opacity: 0.5; } }
.end { display: grid; justify-items: center; gap: 8px; padding: 40px 24px 44px; text-align: center; }
.end:focus { outline: none; }
.end h3 { font-size: 20px; }
.end p { margin: 0; max-inline-size: 44ch; color: var(--d-muted); text-wrap: pretty; }
.badge { padding: 14px; border-radius: 50%; background-color: color-mix(in srgb, currentcolor 14%, transparent); line-height: 0; }
.badge .icon { inline-size: 28px; block-size: 28px; stroke-width: 2.5; }
.done .badge { color: var(--d-good); }
.fail .badge { color: var(--d-error); }
`;
	// src/shared/tokens.css
	var tokens_default = `/* Our defaults behind the merchant's variables, and what the shell and the frame both draw. JavaScript sets data-scheme on the root. */
[data-scheme] {
	color-scheme: light;
	--d-font: system-ui, sans-serif;
	--d-primary: var(--color-primary, #2b4acb);
	--d-hover: var(--color-hover, #2039a3);
	--d-header: var(--color-header, #fff);
	--d-content: var(--color-content, #fff);
	--d-text: var(--font-color, #1a2030);
	--d-muted: color-mix(in srgb, var(--d-text) 72%, transparent);
	--d-line: var(--accordion--border-color, #d5d9e2);
	--d-input: var(--input--background-color, #fff);
	--d-input-text: var(--input--font-color, #1a2030);
	--d-input-line: var(--input--border-color, #858d9f);
	--d-input-radius: var(--input--border-radius, 8px);
	--d-button-radius: var(--button--border-radius, 8px);
	--d-error: #b3261e;
	--d-good: #1b7a43;
	--d-notice: #fff6dc;
	--d-notice-line: #d9a514;
	--d-notice-text: #3d2f00;
	color: var(--d-text);
	font: 400 16px/1.4 var(--d-font);
}
[data-scheme="dark"] {
	color-scheme: dark;
	--d-primary: var(--color-primary, #9db4ff);
	--d-hover: var(--color-hover, #bccbff);
	--d-header: var(--color-header, #1b1f29);
	--d-content: var(--color-content, #1b1f29);
	--d-text: var(--font-color, #eceff6);
	--d-line: var(--accordion--border-color, #373e4d);
	--d-input: var(--input--background-color, #11141b);
	--d-input-text: var(--input--font-color, #eceff6);
	--d-input-line: var(--input--border-color, #798298);
	--d-error: #ffa199;
	--d-good: #7ddba0;
	--d-notice: #332a0d;
	--d-notice-line: #b98e1d;
	--d-notice-text: #ffeab3;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
.unseen {
	position: absolute;
	inline-size: 1px;
	block-size: 1px;
	overflow: hidden;
	clip-path: inset(50%);
}
.icon {
	inline-size: 24px;
	block-size: 24px;
	flex: none;
	fill: none;
	stroke: currentcolor;
	stroke-width: 1.75;
	stroke-linecap: round;
	stroke-linejoin: round;
}
.mark {
	display: grid;
	place-items: center;
	min-inline-size: 36px;
	block-size: 24px;
	padding-inline: 5px;
	border: 1px solid color-mix(in srgb, currentcolor 22%, transparent);
	border-radius: 5px;
	font-size: 10px;
	font-weight: 700;
	letter-spacing: 0.03em;
}
@media (prefers-reduced-motion: reduce) {
	* { transition: none !important; animation-duration: 4s !important; }
}
`;
	// src/shell/view.ts
	var sheet;
	function styles() {
		if (sheet === void 0) {
			sheet = new CSSStyleSheet();
			sheet.replaceSync(tokens_default + shell_default);
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
		constructor(source, toggled) {
			this.marks = h("span", { class: "marks", role: "img", hidden: true });
			this.test = h("span", { class: "test", hidden: true });
			this.name = h("span", { class: "bone label" });
			this.live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
			this.frame = h("iframe", { src: source, title: "Card details", referrerpolicy: "origin", scrolling: "no" });
			this.toggle = h("button", { type: "button", id: "card", "aria-controls": "panel", "aria-expanded": "true" });
			this.toggle.append(icon("card", CARD), this.name, icon("chevron", CHEVRON));
			this.toggle.addEventListener("click", toggled);
			const head = h("div", { class: "head" }, h("h3", {}, this.toggle), this.test, this.marks);
			const body = h("div", { class: "body" }, skeleton(), this.frame);
			this.panel = h("div", { id: "panel", class: "panel", role: "region", "aria-labelledby": "card" }, h("div", { class: "clip" }, body));
			this.accordion = h("div", { class: "accordion" }, h("div", { class: "entry" }, head, this.panel));
			this.element = h("div", { class: "root loading" }, this.accordion, this.live);
		}
		mount(root) {
			root.adoptedStyleSheets = [styles()];
			root.replaceChildren(this.element);
		}
		setLoading(loading) {
			this.element.classList.toggle("loading", loading);
		}
		showFace(face) {
			this.speak(face.lang, face.dir);
			this.frame.title = face.frameTitle;
			this.name.className = "";
			this.name.textContent = face.card;
			this.marks.setAttribute("aria-label", face.accepted);
			this.marks.replaceChildren(...face.marks.map((mark) => h("span", { class: "mark", "aria-hidden": "true" }, mark)));
			this.marks.hidden = false;
			this.test.textContent = face.testMode;
			this.test.hidden = face.testMode === "";
		}
		speak(lang, dir) {
			this.element.lang = lang;
			this.element.dir = dir;
		}
		setSelected(selected) {
			this.toggle.setAttribute("aria-expanded", String(selected));
			this.panel.inert = !selected;
		}
		setBusy(busy) {
			if (busy) this.toggle.setAttribute("aria-disabled", "true");
			else this.toggle.removeAttribute("aria-disabled");
		}
		setHeight(height) {
			this.frame.style.blockSize = `${height}px`;
		}
		showEnd(kind, title, text) {
			const root = this.element.getRootNode();
			const focused = root.activeElement !== null;
			const badge = h("span", { class: "badge" }, icon("", kind === "done" ? CHECK : CROSS));
			const end = h("section", { class: `end ${kind}`, tabindex: "-1", "aria-labelledby": "end" }, badge, h("h3", { id: "end" }, title), h("p", {}, text));
			this.setLoading(false);
			this.accordion.replaceChildren(h("div", { class: "entry" }, end));
			this.live.textContent = `${title}. ${text}`;
			if (focused) end.focus({ preventScroll: true });
		}
	};
	// src/shell/dropin.ts
	var HANDSHAKE_MS = 35e3;
	function tell(callback) {
		try {
			callback();
		} catch (error) {
			reportError(error);
		}
	}
	var Dropin = class {
		constructor(host, root, options, base2) {
			this.host = host;
			this.root = root;
			this.options = options;
			this.port = null;
			this.stopWatching = () => {
			};
			this.sentTheme = "";
			this.state = "loading";
			this.selected = true;
			this.busy = false;
			this.enabled = false;
			const source = new URL("frame.html", base2);
			const lang = document.documentElement.lang;
			const locale = (options.locale ?? (lang || navigator.language)).replaceAll("-", "_");
			source.search = new URLSearchParams({ session: options.id, locale }).toString();
			source.hash = lang;
			this.view = new View(source.href, () => this.select(!this.selected));
			this.view.frame.addEventListener("load", () => this.connect(source.origin));
			applyTheme(this.view.element, readTheme(host));
			this.awaitFrame();
			this.view.mount(root);
		}
		submitPayment() {
			if (this.state === "ready" && this.selected) this.send({ type: "submit" });
		}
		unselectPaymentMethod() {
			this.select(false);
		}
		retire() {
			this.state = "over";
			this.stopTimer();
			this.disconnect();
		}
		disconnect() {
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
			this.send({ type: "setup", hideSubmitButton: this.options.hideSubmitButton === true });
			this.send({ type: "select", selected: this.selected });
			this.sentTheme = "";
			this.relayTheme();
			this.stopWatching = watchTheme(this.host, () => this.host.isConnected ? this.relayTheme() : this.leave());
		}
		awaitFrame() {
			this.timer ??= setTimeout(() => {
				const message = "The payment form did not answer. Check that the page's origin is registered for the merchant and its CSP admits the frame.";
				this.fail("FRAME_UNAVAILABLE", message, "", "");
			}, HANDSHAKE_MS);
		}
		stopTimer() {
			clearTimeout(this.timer);
			this.timer = void 0;
		}
		leave() {
			this.stopTimer();
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
			switch (message.type) {
				case "ready":
					this.stopTimer();
					this.state = "ready";
					this.view.setLoading(false);
					return this.view.showFace(message.face);
				case "size":
					return this.view.setHeight(message.height);
				case "enabled":
					return this.setEnabled(message.enabled);
				case "busy":
					this.busy = message.busy;
					return this.view.setBusy(message.busy);
				case "done":
					this.end("done", message.title, message.text);
					return tell(() => this.options.onSuccess());
				case "fail":
					if (message.title !== "") this.view.speak(message.lang, message.dir);
					return this.fail(message.code, message.message, message.title, message.text);
			}
		}
		select(selected) {
			if (this.state === "over" || this.busy || this.selected === selected) return;
			this.selected = selected;
			this.view.setSelected(selected);
			this.send({ type: "select", selected });
		}
		setEnabled(enabled) {
			if (this.enabled === enabled) return;
			this.enabled = enabled;
			tell(() => this.options.onSubmitEnabledChange?.(enabled));
		}
		end(kind, title, text) {
			this.retire();
			this.setEnabled(false);
			this.view.showEnd(kind, title, text);
		}
		fail(errorCode, errorMessage, title, text) {
			if (title === "") this.view.speak("en", "ltr");
			this.end("fail", title || "The payment form did not load", text || "Check your connection and load this page again.");
			tell(() => this.options.onFailure?.({ errorCode, errorMessage }));
		}
	};
	// src/shell/options.ts
	var KINDS = {
		target: "String",
		id: "String",
		onSuccess: "Function",
		onFailure: "function",
		hideSubmitButton: "boolean",
		onSubmitEnabledChange: "function",
		locale: "string"
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
		return options;
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
	// src/shell/init.ts
	var script = document.currentScript;
	var base = script instanceof HTMLScriptElement && script.src !== "" ? baseOf(script.src) : null;
	var running = /* @__PURE__ */ new WeakMap();
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
		const dropin = new Dropin(target, rootOf(target), options, base);
		running.set(target, dropin);
		return Object.freeze({
			submitPayment: () => dropin.submitPayment(),
			unselectPaymentMethod: () => dropin.unselectPaymentMethod()
		});
	}
	if (!("dropin" in window)) Object.defineProperty(window, "dropin", { value: Object.freeze({ init }) });
})();
