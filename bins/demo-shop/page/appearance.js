// The look of the drop-in, tried live: a class for a preset, and variables on the target.

import { ask, copyButton, h, say } from "./kit.js";
import { locale } from "./language.js";

const PRESETS = [["", "None"], ["dropin-night", "Night"], ["dropin-flat", "Flat"], ["dropin-rounded", "Rounded"], ["dropin-contrast", "High contrast"]];

const borders = (part) => ["color", "radius", "top-width", "right-width", "bottom-width", "left-width"].map((what) => `--${part}--border-${what}`);
const VARIABLES = [
  ...["primary", "hover", "content", "app", "header"].map((what) => `--color-${what}`), "--font-color",
  ...borders("accordion"), ...borders("input"), "--input--font-color", "--input--background-color", "--button--border-radius",
];

const target = document.getElementById("payment");
const code = document.getElementById("code");
const own = new Map();
let preset = "";

/** What stands in the page that looks like this. */
function written() {
  const link = preset && `<link rel="stylesheet" href="${document.body.dataset.assetUrl}/v1/appearance.css">\n`;
  const place = `<div id="payment"${preset && ` class="${preset}"`}></div>\n`;
  const lines = [...own].map(([name, value]) => `  ${name}: ${value};\n`);
  return link + place + (lines.length > 0 ? `<style>\n#payment {\n${lines.join("")}}\n</style>\n` : "");
}

/** Puts the look on the target; the drop-in follows by itself. */
function show() {
  target.className = `form-place ${preset}`;
  for (const name of VARIABLES) {
    target.style.setProperty(name, own.get(name) ?? "");
    document.getElementById(name).placeholder = own.has(name) ? "" : getComputedStyle(target).getPropertyValue(name).trim() || "default";
  }
  code.textContent = written();
  code.nextElementSibling?.remove();
  code.after(copyButton(written(), "Copy what your page says"));
}

function drawPresets() {
  const choose = (value) => () => {
    preset = value;
    show();
    say(`Preset ${PRESETS.find(([id]) => id === value)[1]}.`);
  };
  const option = ([value, name]) => h("label", { class: "switch" }, h("input", { type: "radio", name: "preset", value, checked: value === preset, onchange: choose(value) }), name);
  document.getElementById("presets").append(...PRESETS.map(option));
}

function drawVariables() {
  const changed = (name) => ({ target: input }) => {
    const value = input.value.trim();
    if (value === "") own.delete(name);
    else own.set(name, value);
    show();
  };
  const row = (name) => h("label", {}, h("code", {}, name), h("input", { id: name, autocomplete: "off", spellcheck: "false", oninput: changed(name) }));
  document.getElementById("variables").append(...VARIABLES.map(row));
}

/** A Session of its own, which nobody else's cart knows. */
async function pay() {
  const { Things } = await ask("/api/catalogue");
  const Lines = [{ Id: Things[0].Id, Quantity: 1 }];
  const { SessionId } = await ask("/api/checkout", { CartId: crypto.randomUUID(), Currency: "EUR", Country: "IE", AutoCapture: true, Lines });
  window.dropin.init({ target: "#payment", id: SessionId, locale: locale(), onSuccess: () => say("Paid."), onFailure: ({ errorMessage }) => fail(errorMessage) });
}

function fail(message) {
  const problem = document.getElementById("problem");
  [problem.textContent, problem.hidden] = [message, false];
}

drawPresets();
drawVariables();
show();
// The drop-in's script is deferred, as this one is: it has run by now, or could not be loaded.
if (window.dropin === undefined) fail("The payment form could not be loaded. Check that the payment service is running, then reload this page.");
else pay().catch(({ message }) => fail(message));
