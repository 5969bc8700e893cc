// The form of a new card.

import { draw } from "../shared/mark";
import { say } from "../shared/strings";
import type { Frame } from "../frame/frame";
import { brandOf, FOURS } from "./brands";
import { CardScheme } from "./card-scheme";
import { Field, type FieldSetup } from "./field";
import { drawingOf } from "./marks";
import { EXPIRY_MASK, grouped, type Mask } from "./mask";
import { PayForm, type FormEvents } from "./pay-form";
import { codeProblem, expiryOf, expiryProblem, MAX_NUMBER_DIGITS, nameProblem, numberProblem } from "./validate";

const NUMBER_MASK: Mask = {
  max: (digits) => brandOf(digits)?.lengths.at(-1) ?? MAX_NUMBER_DIGITS,
  show: (digits) => grouped(digits, brandOf(digits)?.gaps ?? FOURS),
};

/** `accepted` are the scheme ids of the Session. */
export function cardForm(frame: Frame, accepted: readonly string[], events: FormEvents): PayForm {
  const { strings, form } = frame;
  const blank = form.fields.number.box.lastElementChild as Element;
  /** The mark in the number's field: of its scheme, else the blank card. */
  let mark = blank;
  const make = (name: keyof typeof form.fields, setup: FieldSetup): Field => new Field(form.fields[name], setup, strings, changed, events.announce);
  const schemeChanged = (): void => {
    numberChanged();
    if (number.input.hasAttribute("aria-invalid")) number.show(number.problem);
    events.changed();
  };
  const scheme = new CardScheme(frame, accepted, schemeChanged);
  const codeLength = (): number | undefined => brandOf(number.value)?.codeLength;
  const numberChanged = (): void => {
    const brand = brandOf(number.value);
    const shown = brand === null ? blank : draw(drawingOf(frame, scheme.chosen || brand.id), brand.name);
    mark.replaceWith(shown);
    mark = shown;
    code.setHint(say(strings, brand?.codeLength === 4 ? "codeHint4" : "codeHint3"));
    if (code.input.hasAttribute("aria-invalid")) code.show(code.problem);
  };
  const changed = (field: Field): void => {
    if (field === number) {
      scheme.set(number.value, brandOf(number.value));
      numberChanged();
    }
    events.changed();
  };
  const number = make("number", { mask: NUMBER_MASK, problem: (value) => numberProblem(value, scheme.isBorne ? [...accepted, brandOf(value)?.id ?? ""] : accepted) });
  const expiry = make("expiry", { mask: EXPIRY_MASK, problem: (value) => expiryProblem(value, new Date()) });
  const code = make("code", { mask: { max: () => codeLength() ?? 4, show: (digits) => digits }, note: "notice", problem: (value) => codeProblem(value, codeLength()) });
  const name = make("name", { problem: nameProblem });
  return new PayForm(form, strings, events, { number, expiry, code, name }, scheme, () => {
    const { year, month } = expiryOf(expiry.value) ?? { year: "", month: "" };
    const Expiry = { Year: String(year), Month: String(month).padStart(2, "0") };
    return { Name: name.value.trim(), Number: number.value, VerificationCode: code.value, Expiry };
  });
}
