// Dropin: dropin.js. Built from crates/browser/src by `npm run build`; do not edit.
"use strict";
(() => {
  // src/shared/address.ts
  function baseOf(source) {
    const url = new URL(source);
    const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
    return new URL(folder ?? ".", url);
  }

  // src/shared/protocol.ts
  var PROTOCOL = 1;
  var text = (value) => typeof value === "string" && value.length <= 2048;
  var flag = (value) => typeof value === "boolean";
  var object = (value) => typeof value === "object" && value !== null;
  var FRAME_SHAPES = {
    ready: { face: isFace },
    size: { height: (value) => typeof value === "number" && value >= 0 && value <= 1e4 },
    enabled: { enabled: flag },
    busy: { busy: flag },
    redirect: { url: text },
    done: { title: text, text },
    fail: { code: text, message: text, title: text, text, lang: text, dir: text }
  };
  function isFace(value) {
    const { marks, ...texts } = Object(value);
    return Array.isArray(marks) && marks.every(text) && Object.values(texts).every(text);
  }
  function matches(value, shapes) {
    if (!object(value)) return false;
    const message = value;
    const type = message["type"];
    if (typeof type !== "string" || !Object.hasOwn(shapes, type)) return false;
    return Object.entries(shapes[type] ?? {}).every(([field, holds]) => holds(message[field]));
  }
  function isFrameMessage(value) {
    return matches(value, FRAME_SHAPES);
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

  // src/shell/theme.ts
  var DARK = "(prefers-color-scheme: dark)";
  function readTheme(host) {
    const style = getComputedStyle(host);
    const variables = {};
    for (const name of VARIABLES.keys()) {
      const value = style.getPropertyValue(name).trim();
      if (value !== "") variables[name] = value;
    }
    const [light, dark] = [/\blight\b/.test(style.colorScheme), /\bdark\b/.test(style.colorScheme)];
    const scheme = dark && (!light || matchMedia(DARK).matches) ? "dark" : "light";
    return { variables, scheme, font: style.fontFamily };
  }
  function watchTheme(host, look) {
    const media = matchMedia(DARK);
    const check = () => host.isConnected ? look() : stop();
    const marks = new MutationObserver(check);
    for (let element = host; element !== null; element = element.parentElement) {
      marks.observe(element, { attributes: true, attributeFilter: ["class", "style", "data-theme", "data-color-scheme"] });
    }
    const size = new ResizeObserver(check);
    size.observe(host);
    media.addEventListener("change", check);
    window.addEventListener("load", check);
    function stop() {
      marks.disconnect();
      size.disconnect();
      media.removeEventListener("change", check);
      window.removeEventListener("load", check);
    }
    return stop;
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

  // src/shell/shell.css
  var shell_default = `*,
::before,
::after { box-sizing: border-box; }

[hidden] { display: none !important; }

:host { display: block; }

.root {
  --d-font: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Noto Sans Arabic", sans-serif;
  background-color: var(--d-app);
  border-radius: var(--d-accordion-radius);
  color: var(--d-text);
  font: 400 16px/1.4 var(--d-font);
  text-align: start;
  letter-spacing: normal;
  text-transform: none;
  -webkit-font-smoothing: antialiased;
}

.unseen {
  position: absolute;
  inline-size: 1px;
  block-size: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
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

.entry {
  overflow: hidden;
  border: 0 solid var(--d-accordion-line);
  border-width:
    var(--accordion--border-top-width, 1px) var(--accordion--border-right-width, 1px)
    var(--accordion--border-bottom-width, 1px) var(--accordion--border-left-width, 1px);
  border-radius: var(--d-accordion-radius);
  background-color: var(--d-content);
}

.head {
  position: relative;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px 10px;
  min-block-size: 60px;
  padding-inline: 20px 52px;
  padding-block: 10px;
  background-color: var(--d-header);
}

h3 { margin: 0; font: inherit; font-weight: 600; }

.head h3 { flex: 1 1 auto; }

#card {
  display: flex;
  align-items: center;
  gap: 12px;
  margin: 0;
  padding: 0;
  border: 0;
  background: none;
  color: inherit;
  font: inherit;
  text-align: start;
  cursor: pointer;
}

/* The whole header is the button's. */
#card::after { content: ""; position: absolute; inset: 0; border-radius: var(--d-accordion-radius); }
#card:focus-visible { outline: none; }
#card:focus-visible::after { outline: 2px solid var(--d-primary); outline-offset: -4px; }
#card[aria-disabled="true"] { cursor: default; }
#card .card { color: var(--d-primary); }

#card .chevron {
  position: absolute;
  inset-inline-end: 18px;
  inset-block-start: 50%;
  inline-size: 20px;
  block-size: 20px;
  margin-block-start: -10px;
  color: var(--d-muted);
  transition: transform 180ms;
}

#card[aria-expanded="true"] .chevron { transform: rotate(180deg); }

@media (hover: hover) { .head:hover .chevron { color: var(--d-hover); } }

.marks { display: flex; flex-wrap: wrap; gap: 4px; }

.mark {
  display: grid;
  place-items: center;
  min-inline-size: 36px;
  block-size: 24px;
  padding-inline: 5px;
  border: 1px solid color-mix(in srgb, var(--d-text) 20%, transparent);
  border-radius: 5px;
  background-color: var(--d-content);
  color: var(--d-text);
  font-size: 10px;
  font-weight: 700;
  letter-spacing: 0.03em;
}

.test {
  padding: 2px 8px;
  border: 1px solid var(--d-notice-line);
  border-radius: 999px;
  background-color: var(--d-notice);
  color: var(--d-notice-text);
  font-size: 12px;
  font-weight: 600;
}

.panel {
  display: grid;
  grid-template-rows: 1fr;
  transition: grid-template-rows 220ms ease, visibility 220ms;
}

.panel.closed { grid-template-rows: 0fr; visibility: hidden; }
.clip { min-block-size: 0; overflow: hidden; }
.body { position: relative; padding: 14px 20px 20px; }

/* Takes back the room that the frame keeps around itself for focus rings. */
iframe {
  display: block;
  inline-size: calc(100% + 8px);
  block-size: 388px;
  margin: -4px;
  border: 0;
  background: transparent;
  color-scheme: inherit;
  transition: opacity 160ms;
}

/* Not visibility: browsers stop drawing, and so measuring, a hidden frame of another site. */
.loading iframe { opacity: 0; }
.skeleton { position: absolute; inset: 14px 20px auto; display: grid; gap: 26px; opacity: 0; visibility: hidden; }
.loading .skeleton { opacity: 1; visibility: visible; }
.bones { display: grid; gap: 8px; }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 14px; }
.bone { display: block; border-radius: var(--d-input-radius); background-color: var(--d-faint); animation: breathe 1.6s ease-in-out infinite; }
.bone.label { inline-size: 96px; max-inline-size: 60%; block-size: 16px; border-radius: 5px; }
.bone.input { block-size: 48px; }
.bone.button { block-size: 52px; border-radius: var(--d-button-radius); }

@keyframes breathe { 50% { opacity: 0.5; } }

.end { display: grid; justify-items: center; gap: 8px; padding: 40px 24px 44px; text-align: center; }
.end:focus { outline: none; }
.end h3 { font-size: 20px; line-height: 1.3; }
.end p { margin: 0; max-inline-size: 44ch; color: var(--d-muted); font-size: 15px; text-wrap: pretty; }
.badge { display: grid; place-items: center; inline-size: 56px; block-size: 56px; margin-block-end: 8px; border-radius: 50%; }
.badge .icon { inline-size: 28px; block-size: 28px; stroke-width: 2.5; }
.done .badge { background-color: color-mix(in srgb, var(--d-good) 14%, transparent); color: var(--d-good); }
.fail .badge { background-color: color-mix(in srgb, var(--d-error) 12%, transparent); color: var(--d-error); }

@media (prefers-reduced-motion: reduce) {
  * { transition: none !important; animation: none !important; }
}
`;

  // src/shared/tokens.css
  var tokens_default = `/* Our defaults behind the merchant's variables. Shared by the shell and the frame; JavaScript sets data-scheme on the root. */
[data-scheme] {
  color-scheme: light;
  --d-primary: var(--color-primary, #2b4acb);
  --d-hover: var(--color-hover, #2039a3);
  --d-app: var(--color-app, transparent);
  --d-header: var(--color-header, #fff);
  --d-content: var(--color-content, #fff);
  --d-text: var(--font-color, #1a2030);
  --d-muted: color-mix(in srgb, var(--d-text) 72%, transparent);
  --d-faint: color-mix(in srgb, var(--d-text) 9%, transparent);
  --d-accordion-line: var(--accordion--border-color, #d5d9e2);
  --d-accordion-radius: var(--accordion--border-radius, 12px);
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
}

[data-scheme="dark"] {
  color-scheme: dark;
  --d-primary: var(--color-primary, #9db4ff);
  --d-hover: var(--color-hover, #bccbff);
  --d-header: var(--color-header, #1b1f29);
  --d-content: var(--color-content, #1b1f29);
  --d-text: var(--font-color, #eceff6);
  --d-accordion-line: var(--accordion--border-color, #373e4d);
  --d-input: var(--input--background-color, #11141b);
  --d-input-text: var(--input--font-color, #eceff6);
  --d-input-line: var(--input--border-color, #798298);
  --d-error: #ffa199;
  --d-good: #7ddba0;
  --d-notice: #332a0d;
  --d-notice-line: #b98e1d;
  --d-notice-text: #ffeab3;
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
    const field = () => h("span", { class: "bones" }, bone("label"), bone("input"));
    const pair = h("span", { class: "two" }, field(), field());
    return h("div", { class: "skeleton", "aria-hidden": "true" }, field(), pair, field(), bone("button"));
  }
  var View = class {
    element;
    frame;
    toggle;
    panel;
    marks = h("span", { class: "marks", role: "img", hidden: true });
    test = h("span", { class: "test", hidden: true });
    name = h("span", { class: "bone label" });
    live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
    accordion;
    constructor(source, toggled) {
      this.frame = h("iframe", { src: source, title: "Card details", referrerpolicy: "origin", scrolling: "no" });
      this.toggle = h("button", { type: "button", id: "card", "aria-controls": "panel", "aria-expanded": "true" });
      this.toggle.append(icon("card", ...ICONS.card), this.name, icon("chevron", ...ICONS.chevron));
      this.toggle.addEventListener("click", toggled);
      const head = h("div", { class: "head" }, h("h3", {}, this.toggle), this.test, this.marks);
      const body = h("div", { class: "body" }, skeleton(), this.frame);
      this.panel = h("div", { id: "panel", class: "panel", role: "region", "aria-labelledby": "card" }, h("div", { class: "clip" }, body));
      this.accordion = h("div", { class: "accordion" }, h("div", { class: "entry" }, head, this.panel));
      this.element = h("div", { class: "root loading" }, this.accordion, this.live);
    }
    /** Draws into `root` in the same task, before anything is loaded. */
    mount(root) {
      root.adoptedStyleSheets = [styles()];
      root.replaceChildren(this.element);
    }
    setLoading(loading) {
      this.element.classList.toggle("loading", loading);
    }
    /** What the frame found out: the language, the cards that are accepted, whether this is a test. */
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
      this.panel.classList.toggle("closed", !selected);
    }
    setBusy(busy) {
      if (busy) this.toggle.setAttribute("aria-disabled", "true");
      else this.toggle.removeAttribute("aria-disabled");
    }
    setHeight(height) {
      this.frame.style.blockSize = `${height}px`;
    }
    /** Replaces everything, the frame with what was typed in it included. */
    showEnd(kind, title, text2) {
      const root = this.element.getRootNode();
      const focused = root.activeElement !== null;
      const badge = h("span", { class: "badge" }, icon("", ...kind === "done" ? ICONS.check : ICONS.cross));
      const end = h("section", { class: `end ${kind}`, tabindex: "-1", "aria-labelledby": "end" }, badge, h("h3", { id: "end" }, title), h("p", {}, text2));
      this.setLoading(false);
      this.accordion.replaceChildren(h("div", { class: "entry" }, end));
      this.live.textContent = `${title}. ${text2}`;
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
    host;
    root;
    options;
    view;
    port = null;
    timer;
    stopWatching = () => {
    };
    sentTheme = "";
    state = "loading";
    selected = true;
    busy = false;
    enabled = false;
    submitPayment() {
      if (this.state === "ready" && this.selected) this.send({ type: "submit" });
    }
    unselectPaymentMethod() {
      this.select(false);
    }
    /** Another instance takes the place of this one: no callback is heard of any more. */
    retire() {
      this.state = "over";
      this.disconnect();
    }
    disconnect() {
      clearTimeout(this.timer);
      this.stopWatching();
      this.port?.close();
      this.port = null;
    }
    /** Each time the frame has loaded (again): give it a port of its own. */
    connect(origin) {
      if (this.state === "over") return;
      this.disconnect();
      this.state = "loading";
      this.view.setLoading(true);
      this.setEnabled(false);
      this.awaitFrame();
      const channel = new MessageChannel();
      this.port = channel.port1;
      this.port.onmessage = (event) => {
        if (isFrameMessage(event.data)) this.heard(event.data);
      };
      const offer = { type: "dropin-port", protocol: PROTOCOL };
      this.view.frame.contentWindow?.postMessage(offer, origin, [channel.port2]);
      this.send({ type: "setup", hideSubmitButton: this.options.hideSubmitButton });
      this.send({ type: "select", selected: this.selected });
      this.sentTheme = "";
      this.relayTheme();
      this.stopWatching = watchTheme(this.host, () => this.relayTheme());
    }
    awaitFrame() {
      this.timer = setTimeout(() => {
        if (!this.host.isConnected) return this.retire();
        const message = "The payment form did not answer. Check that the page's origin is registered for the merchant and its CSP admits the frame.";
        this.fail("FRAME_UNAVAILABLE", message, "", "");
      }, HANDSHAKE_MS);
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
          clearTimeout(this.timer);
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
        case "redirect":
          return this.leave(message.url);
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
    /** Only web addresses: a `javascript:` one would run on the merchant's page. */
    leave(address) {
      const url = URL.parse?.(address) ?? null;
      if (url?.protocol === "https:" || url?.protocol === "http:") window.location.assign(url.href);
    }
    end(kind, title, text2) {
      this.state = "over";
      this.disconnect();
      this.setEnabled(false);
      this.view.showEnd(kind, title, text2);
    }
    fail(errorCode, errorMessage, title, text2) {
      if (title === "") this.view.speak("en", "ltr");
      this.end("fail", title || "The payment form did not load", text2 || "Check your connection and load this page again.");
      tell(() => this.options.onFailure?.({ errorCode, errorMessage }));
    }
  };

  // src/shell/options.ts
  var KINDS = {
    target: ["string", true],
    id: ["string", true],
    onSuccess: ["function", true],
    onFailure: ["function", false],
    hideSubmitButton: ["boolean", false],
    onSubmitEnabledChange: ["function", false],
    locale: ["string", false]
  };
  function checkOptions(given) {
    if (typeof given !== "object" || given === null) throw new TypeError("dropin.init takes one object: { target, id, onSuccess, … }");
    const options = given;
    for (const [name, [kind, required]] of Object.entries(KINDS)) {
      const value = options[name] ?? void 0;
      if (value === void 0 ? required : typeof value !== kind || value === "") {
        throw new TypeError(`dropin.init: ${name} must be a ${kind}${required ? " and is required" : ", or left out"}`);
      }
    }
    return { ...options, hideSubmitButton: options["hideSubmitButton"] === true };
  }
  function findTarget(selector) {
    let target;
    try {
      target = document.querySelector(selector);
    } catch {
      throw new TypeError(`dropin.init: target "${selector}" is not a CSS selector`);
    }
    if (target === null) throw new TypeError(`dropin.init: no element matches target "${selector}"; call init once the page has it`);
    return target;
  }
  function isEmpty(target) {
    return [...target.childNodes].every((node) => node.nodeType === Node.COMMENT_NODE || node.nodeType === Node.TEXT_NODE && node.textContent?.trim() === "");
  }

  // src/shell/init.ts
  var script = document.currentScript;
  var base = script instanceof HTMLScriptElement && script.src !== "" ? baseOf(script.src) : null;
  var running = /* @__PURE__ */ new WeakMap();
  function rootOf(target) {
    const earlier = running.get(target);
    if (!isEmpty(target) || earlier === void 0 && target.shadowRoot !== null) {
      throw new TypeError("dropin.init: the target must be an empty element");
    }
    if (earlier === void 0) return target.attachShadow({ mode: "open" });
    earlier.retire();
    return earlier.root;
  }
  function init(given) {
    if (base === null) throw new Error('dropin.js must be loaded by <script src="…/v1/dropin.js">, not as a module or inline');
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
