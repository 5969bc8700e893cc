// What the forms that pay by card have in common: fields, what is to be read before the button is pressed, and the button.

import { h, payButton, setNotice, setState } from "../shared/dom";
import { say, type Strings } from "../shared/strings";
import type { Field } from "./field";
import { whenDrawn } from "./screen";

export type FieldName = "number" | "expiry" | "code" | "name";

export interface FormEvents {
  readonly changed: () => void;
  readonly submitted: () => void;
  readonly announce: (message: string) => void;
}

export abstract class PayForm {
  readonly element: HTMLFormElement;
  protected abstract readonly fields: Readonly<{ code: Field } & Partial<Record<FieldName, Field>>>;
  private readonly notice: HTMLElement;
  protected readonly button: HTMLButtonElement;
  private readonly buttonText = h("span");
  private readonly total = h("p", { class: "total", hidden: true });
  private amount = "";
  /** Whether the card is stored and nothing is charged. */
  private free = false;
  private busy = false;

  /** `suffix` tells the ids of this form from those of another one. */
  protected constructor(protected readonly strings: Strings, protected readonly events: FormEvents, label: string, protected readonly suffix = "") {
    this.notice = h("div", { class: "notice", id: `notice${suffix}`, hidden: true });
    this.button = payButton("submit", this.buttonText);
    this.element = h("form", { novalidate: true, autocomplete: "on", "aria-label": label });
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      events.submitted();
    });
  }

  get valid(): boolean {
    return this.all.every((field) => field.problem === null);
  }

  /** What the stash takes when all fields are right; else shows every error, goes to the first and says what to do. */
  check(): object | null {
    const wrong = this.all.filter((field) => field.show(field.problem) !== null);
    if (wrong.length === 0) return this.read();
    this.complain(wrong);
    return null;
  }

  /** Shows what the service found wrong with the fields it names. */
  refuse(names: readonly FieldName[]): void {
    const keys = { number: "numberInvalid", expiry: "expiryRefused", code: "codeRefused", name: "nameNotName" };
    const refused = names.flatMap((name) => this.fields[name] ?? []);
    for (const name of names) this.fields[name]?.refuse({ key: keys[name] });
    this.complain(refused);
    this.events.changed();
  }

  /** What is to be paid. */
  setAmount(amount: string, free: boolean): void {
    [this.amount, this.free] = [amount, free];
    this.total.textContent = say(this.strings, "total", { amount });
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
    for (const { input } of this.all) input.readOnly = busy;
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
    for (const field of this.all) field.clear();
    this.events.changed();
  }

  /** What the stash takes, of fields that are right. */
  protected abstract read(): object;

  /** Puts `parts` above what all forms have. */
  protected fill(...parts: HTMLElement[]): void {
    this.element.append(...parts, this.notice, this.total, this.button);
  }

  private get all(): Field[] {
    return Object.values(this.fields);
  }

  private complain(wrong: readonly Field[]): void {
    const first = wrong[0];
    if (first === undefined) return;
    first.input.focus();
    const message = say(this.strings, first.problem?.key ?? "", first.problem?.values);
    this.events.announce(wrong.length > 1 ? `${say(this.strings, "fixFields")} ${message}` : message);
  }

  private label(): void {
    const key = this.free ? (this.busy ? "saving" : "save") : this.busy ? "paying" : "pay";
    this.buttonText.textContent = say(this.strings, key, { amount: this.amount });
  }
}
