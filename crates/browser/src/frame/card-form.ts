// The form of a new card: four fields in one <form> of one document, so that labels, autofill and the Tab key simply work.

import { CARD, h, icon, setState } from "../shared/dom";
import { say, type Strings } from "../shared/strings";
import { draw } from "../shared/mark";
import { brandOf, FOURS } from "./brands";
import type { Agreement } from "./consent";
import { Field } from "./field";
import { drawingOf } from "./marks";
import { EXPIRY_MASK, grouped, type Mask } from "./mask";
import { PayForm, type FieldName, type FormEvents } from "./pay-form";
import { codeProblem, expiryOf, expiryProblem, MAX_NUMBER_DIGITS, nameProblem, numberProblem, type Problem } from "./validate";

const NUMBER_MASK: Mask = {
  max: (digits) => brandOf(digits)?.lengths.at(-1) ?? MAX_NUMBER_DIGITS,
  show: (digits) => grouped(digits, brandOf(digits)?.gaps ?? FOURS),
};

export class CardForm extends PayForm {
  protected readonly fields: Readonly<Record<FieldName, Field>>;
  private readonly blank = icon("blank-card", CARD);
  /** The mark in the number's field: of its scheme, else the blank card. */
  private mark: Element = this.blank;
  /** Whether the shopper wants the card to be stored: asked where that is the shopper's choice, and never answered beforehand. */
  private readonly box = h("input", { type: "checkbox", id: "save", "aria-describedby": "agreement" });
  private readonly choice: HTMLElement;
  /** What the shopper agrees to by pressing the button, or by ticking the box. */
  private readonly agreement = h("p", { class: "agreement", id: "agreement" });
  private readonly consent: HTMLElement;

  constructor(
    strings: Strings,
    /** Scheme ids of the Session. */
    accepted: readonly string[],
    events: FormEvents,
  ) {
    super(strings, events, say(strings, "frameTitle"));
    this.fields = this.buildFields(accepted);
    const { number, expiry, code, name } = this.fields;
    number.box.append(this.mark);
    this.choice = h("div", { class: "choice" }, this.box, h("label", { for: "save" }, say(strings, "saveCard")));
    this.consent = h("div", { class: "consent", hidden: true }, this.choice, this.agreement);
    this.fill(number.element, h("div", { class: "pair" }, expiry.element, code.element), name.element, this.consent);
    this.numberChanged();
  }

  /** Whether the shopper has ticked the box. */
  get ticked(): boolean {
    return this.box.checked;
  }

  /** What is agreed to with the payment, if anything. A box that was ticked for another text is empty again. */
  setAgreement({ text, optional }: Agreement): void {
    if (this.agreement.textContent !== text || !optional) this.box.checked = false;
    this.agreement.textContent = text;
    this.consent.hidden = text === "";
    this.choice.hidden = !optional;
    if (text === "" || optional) this.button.removeAttribute("aria-describedby");
    else this.button.setAttribute("aria-describedby", "agreement");
  }

  override setBusy(busy: boolean): void {
    super.setBusy(busy);
    // Unlike one that is disabled it keeps the focus.
    setState(this.box, "aria-disabled", busy);
  }

  override clear(): void {
    super.clear();
    this.box.checked = false;
    this.numberChanged();
  }

  private buildFields(accepted: readonly string[]): Record<FieldName, Field> {
    const { strings, events } = this;
    this.box.addEventListener("click", (event) => this.box.hasAttribute("aria-disabled") && event.preventDefault());
    const changed = (field: Field): void => {
      if (field.input.id === "number") this.numberChanged();
      events.changed();
    };
    const make = (id: FieldName, autocomplete: string, problem: (value: string) => Problem | null, mask?: Mask, placeholder?: string, note?: string) =>
      new Field({ id, autocomplete, problem, ...(mask && { mask }), ...(placeholder && { placeholder }), ...(note && { note }) }, strings, changed, events.announce);
    const codeLength = (): number | undefined => brandOf(this.fields.number.value)?.codeLength;
    const codeMask: Mask = { max: () => codeLength() ?? 4, show: (digits) => digits };
    const fields = {
      number: make("number", "cc-number", (value) => numberProblem(value, accepted), NUMBER_MASK),
      expiry: make("expiry", "cc-exp", (value) => expiryProblem(value, new Date()), EXPIRY_MASK, say(strings, "expiryPlaceholder")),
      code: make("code", "cc-csc", (value) => codeProblem(value, codeLength()), codeMask, undefined, "notice"),
      name: make("name", "cc-name", nameProblem),
    };
    fields.name.input.setAttribute("enterkeyhint", "go");
    return fields;
  }

  private numberChanged(): void {
    const brand = brandOf(this.fields.number.value);
    const mark = brand === null ? this.blank : draw(drawingOf(brand.id), brand.name);
    this.mark.replaceWith(mark);
    this.mark = mark;
    this.fields.code.setHint(say(this.strings, brand?.codeLength === 4 ? "codeHint4" : "codeHint3"));
    const code = this.fields.code;
    if (code.input.hasAttribute("aria-invalid")) code.show(code.problem);
  }

  protected read(): object {
    const { number, expiry, code, name } = this.fields;
    const date = expiryOf(expiry.value);
    const Expiry = { Year: String(date?.year ?? ""), Month: String(date?.month ?? "").padStart(2, "0") };
    return { Name: name.value.trim(), Number: number.value, VerificationCode: code.value, Expiry };
  }
}
