// The card form: four fields in one <form> of one document, so that labels, autofill and the Tab key simply work.

import { CARD, h, icon, payButton, setNotice, setState } from "../shared/dom";
import { say, type Strings } from "../shared/strings";
import { draw } from "../shared/mark";
import { brandOf, FOURS } from "./brands";
import { Field } from "./field";
import { drawingOf } from "./marks";
import { EXPIRY_MASK, grouped, type Mask } from "./mask";
import { whenDrawn } from "./screen";
import { codeProblem, expiryOf, expiryProblem, MAX_NUMBER_DIGITS, nameProblem, numberProblem, type Problem } from "./validate";

/** As the stash takes it. Made of the form when the button is pressed; given to the stash and to nobody else. */
export interface Card {
  readonly Name: string;
  readonly Number: string;
  readonly VerificationCode: string;
  readonly Expiry: { readonly Year: string; readonly Month: string };
}

export type FieldName = "number" | "expiry" | "code" | "name";

const NUMBER_MASK: Mask = {
  max: (digits) => brandOf(digits)?.lengths.at(-1) ?? MAX_NUMBER_DIGITS,
  show: (digits) => grouped(digits, brandOf(digits)?.gaps ?? FOURS),
};

export interface FormEvents {
  readonly changed: () => void;
  readonly submitted: () => void;
  readonly announce: (message: string) => void;
}

export class CardForm {
  readonly element: HTMLFormElement;
  private readonly fields: Readonly<Record<FieldName, Field>>;
  private readonly blank = icon("blank-card", CARD);
  /** The mark in the number's field: of its scheme, else the blank card. */
  private mark: Element = this.blank;
  private readonly notice = h("div", { class: "notice", id: "notice", hidden: true });
  private readonly button: HTMLButtonElement;
  private readonly buttonText = h("span");
  private readonly total = h("p", { class: "total", hidden: true });
  /** What the shopper agrees to by pressing the button. */
  private readonly agreement = h("p", { class: "agreement", id: "agreement", hidden: true });
  private amount = "";
  /** Whether the card is stored and nothing is charged. */
  private free = false;
  private busy = false;

  constructor(
    private readonly strings: Strings,
    /** Scheme ids of the Session. */
    accepted: readonly string[],
    private readonly events: FormEvents,
  ) {
    this.fields = this.buildFields(accepted);
    const { number, expiry, code, name } = this.fields;
    number.box.append(this.mark);
    this.button = payButton("submit", this.buttonText);
    const pair = h("div", { class: "pair" }, expiry.element, code.element);
    const rows = [number.element, pair, name.element, this.agreement, this.notice, this.total, this.button];
    this.element = h("form", { novalidate: true, autocomplete: "on", "aria-label": say(strings, "frameTitle") }, ...rows);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      events.submitted();
    });
    this.numberChanged();
  }

  get valid(): boolean {
    return Object.values(this.fields).every((field) => field.problem === null);
  }

  /** The card when all fields are right; else shows every error, goes to the first and says what to do. */
  check(): Card | null {
    const wrong = Object.values(this.fields).filter((field) => field.show(field.problem) !== null);
    const first = wrong[0];
    if (first === undefined) return this.read();
    this.complain(wrong);
    return null;
  }

  /** Shows what the service found wrong with the fields it names. */
  refuse(names: readonly FieldName[]): void {
    const keys = { number: "numberInvalid", expiry: "expiryRefused", code: "codeRefused", name: "nameNotName" };
    for (const name of names) this.fields[name].refuse({ key: keys[name] });
    this.complain(names.map((name) => this.fields[name]));
    this.events.changed();
  }

  /** What is to be paid, and what is agreed to with it, if anything. */
  setOrder(amount: string, agreement: string, free: boolean): void {
    [this.amount, this.free] = [amount, free];
    this.total.textContent = say(this.strings, "total", { amount });
    this.agreement.textContent = agreement;
    this.agreement.hidden = agreement === "";
    if (agreement === "") this.button.removeAttribute("aria-describedby");
    else this.button.setAttribute("aria-describedby", "agreement");
    this.label();
  }

  /** Without our button the shopper still sees what is about to be paid. */
  hideButton(hidden: boolean): void {
    this.button.hidden = hidden;
    // Else the Enter key would still press it, past whatever the page checks before it calls submitPayment().
    this.button.disabled = hidden;
    this.total.hidden = !hidden;
  }

  /** While a payment is under way nothing can be changed; focus stays where it is. */
  setBusy(busy: boolean): void {
    this.busy = busy;
    for (const field of Object.values(this.fields)) field.input.readOnly = busy;
    this.element.setAttribute("aria-busy", String(busy));
    this.label();
  }

  /** After an attempt that failed: the code is typed anew, everything else stays. The focus waits until the form is in sight again. */
  retry(): void {
    const { code } = this.fields;
    code.clear();
    whenDrawn(() => code.input.focus());
  }

  /** A button at rest says that it does nothing for now. */
  rest(resting: boolean): void {
    setState(this.button, "aria-disabled", resting);
  }

  /** A message about the payment as a whole; "" takes it away. */
  setNotice(text: string): void {
    setNotice(this.notice, text);
  }

  /** Wipes everything typed. */
  clear(): void {
    for (const field of Object.values(this.fields)) field.clear();
    this.numberChanged();
    this.events.changed();
  }

  private buildFields(accepted: readonly string[]): Record<FieldName, Field> {
    const { strings, events } = this;
    const changed = (field: Field): void => {
      if (field.input.id === "number") this.numberChanged();
      events.changed();
    };
    const make = (id: FieldName, autocomplete: string, problem: (value: string) => Problem | null, mask?: Mask, placeholder?: string, note?: string) =>
      new Field({ id, autocomplete, problem, ...(mask && { mask }), ...(placeholder && { placeholder }), ...(note && { note }) }, strings, changed, events.announce);
    const codeMask: Mask = { max: () => brandOf(this.fields.number.value)?.codeLength ?? 4, show: (digits) => digits };
    const fields = {
      number: make("number", "cc-number", (value) => numberProblem(value, accepted), NUMBER_MASK),
      expiry: make("expiry", "cc-exp", (value) => expiryProblem(value, new Date()), EXPIRY_MASK, say(strings, "expiryPlaceholder")),
      code: make("code", "cc-csc", (value) => codeProblem(value, this.fields.number.value), codeMask, undefined, "notice"),
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

  private complain(wrong: readonly Field[]): void {
    const first = wrong[0];
    if (first === undefined) return;
    first.input.focus();
    const message = say(this.strings, first.problem?.key ?? "", first.problem?.values);
    this.events.announce(wrong.length > 1 ? `${say(this.strings, "fixFields")} ${message}` : message);
  }

  private read(): Card {
    const { number, expiry, code, name } = this.fields;
    const date = expiryOf(expiry.value);
    const Expiry = { Year: String(date?.year ?? ""), Month: String(date?.month ?? "").padStart(2, "0") };
    return { Name: name.value.trim(), Number: number.value, VerificationCode: code.value, Expiry };
  }

  private label(): void {
    const key = this.free ? (this.busy ? "saving" : "save") : this.busy ? "paying" : "pay";
    this.buttonText.textContent = say(this.strings, key, { amount: this.amount });
  }
}
