// Entry of dropin.js: defines `window.dropin`.

import type { DropinInstance } from "../../dropin";
import { baseOf } from "../shared/address";
import { Dropin } from "./dropin";
import { checkOptions, complain, findTarget, isEmpty, levelBelow } from "./options";

/** Only known while the script first runs. */
const script = document.currentScript;
const base = script instanceof HTMLScriptElement && script.src !== "" ? baseOf(script.src) : null;
const running = new WeakMap<Element, Dropin>();

/** Our earlier instance's root is used again; any other content of the target is the page's, and stays. */
function rootOf(target: Element): ShadowRoot {
  const earlier = running.get(target);
  if (!isEmpty(target) || (earlier === undefined && target.shadowRoot !== null)) {
    complain("the target must be an empty element");
  }
  if (earlier === undefined) return target.attachShadow({ mode: "open" });
  earlier.retire();
  return earlier.root;
}

function init(given: unknown): DropinInstance {
  if (base === null) complain('load dropin.js by <script src="…/v1/dropin.js">, not as a module or inline');
  const options = checkOptions(given);
  const target = findTarget(options.target);
  const dropin = new Dropin(target, rootOf(target), { ...options, headingLevel: options.headingLevel ?? levelBelow(target) }, base, running.get(target));
  running.set(target, dropin);
  return Object.freeze({
    submitPayment: () => dropin.submitPayment(),
    unselectPaymentMethod: () => dropin.unselectPaymentMethod(),
    destroy: () => dropin.destroy(),
  });
}

// A page that loads the script twice keeps the first one, which knows the instances, and where it is from.
if (!("dropin" in window)) Object.defineProperty(window, "dropin", { value: Object.freeze({ init, base: base?.href }) });
