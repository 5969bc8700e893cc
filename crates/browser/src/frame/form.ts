// How a form that pays by card looks, before there is anything in it: fields, a place for messages, the total, the button. Labels, autofill and
// the Tab key work from the start; payment.ts adds what happens when the shopper types.

import { CARD, h, icon, payButton, WARNING } from "../shared/dom";
import { say, type Strings } from "../shared/strings";

export type FieldName = "number" | "expiry" | "code" | "name" | "postcode";

/** One labelled input with its hint and its error line. The line is always there, so an error moves nothing on the page. */
export interface FieldParts {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  /** Where a brand mark may stand. */
  readonly box: HTMLElement;
  readonly hint: HTMLElement;
  readonly error: HTMLElement;
  readonly errorText: HTMLElement;
}

export interface FormParts {
  readonly element: HTMLFormElement;
  /** A message about the payment as a whole. */
  readonly notice: HTMLElement;
  readonly total: HTMLElement;
  readonly button: HTMLButtonElement;
  readonly buttonText: HTMLElement;
}

export type CardFormParts = FormParts & { readonly fields: Readonly<Record<Exclude<FieldName, "postcode">, FieldParts>> };

/** `name` is also the key of the label's text, `suffix` tells the field from the same one of another form; digits are all but names. */
export function drawField(strings: Strings, name: FieldName, suffix: string, autocomplete: string, hintText = "", placeholder: string | null = null): FieldParts {
  const id = name + suffix;
  const kind = name === "name" ? { dir: "auto", autocapitalize: "words" } : { inputmode: "numeric", dir: "ltr" };
  const quiet = { autocorrect: "off", spellcheck: "false", enterkeyhint: name === "name" || suffix ? "go" : "next" };
  const input = h("input", { id, name, type: "text", autocomplete, placeholder, "aria-required": "true", ...kind, ...quiet });
  const box = h("div", { class: "box" }, input);
  const hint = h("p", { class: "hint", id: `${id}-hint` }, hintText);
  const errorText = h("span");
  const error = h("p", { class: "error", id: `${id}-error`, hidden: true }, icon("warning", WARNING), errorText);
  const element = h("div", { class: `field ${name}` }, h("label", { for: id }, say(strings, name)), box, h("div", { class: "under" }, hint, error));
  return { element, input, box, hint, error, errorText };
}

/** `fields` stand above what all forms have. */
export function drawForm(label: string, suffix: string, ...fields: readonly HTMLElement[]): FormParts {
  const notice = h("div", { class: "notice", id: `notice${suffix}`, hidden: true });
  const total = h("p", { class: "total", hidden: true });
  const buttonText = h("span");
  const button = payButton("submit", buttonText);
  const element = h("form", { novalidate: true, autocomplete: "on", "aria-label": label }, ...fields, notice, total, button);
  return { element, notice, total, button, buttonText };
}

/** The form of a new card: four fields in one <form> of one document. */
export function drawCardForm(strings: Strings): CardFormParts {
  const number = drawField(strings, "number", "", "cc-number");
  const expiry = drawField(strings, "expiry", "", "cc-exp", "", say(strings, "expiryPlaceholder"));
  const code = drawField(strings, "code", "", "cc-csc", say(strings, "codeHint3"));
  const name = drawField(strings, "name", "", "cc-name");
  number.box.append(icon("blank-card", CARD));
  const form = drawForm(say(strings, "frameTitle"), "", number.element, h("div", { class: "pair" }, expiry.element, code.element), name.element);
  return { ...form, fields: { number, expiry, code, name } };
}

/** Without our button the shopper still sees what is about to be paid. */
export function hideButton({ button, total }: FormParts, hidden: boolean): void {
  button.hidden = hidden;
  // Else the Enter key would still press it, past whatever the page checks before it calls submitPayment().
  button.disabled = hidden;
  total.hidden = !hidden;
}
