// What the forms that pay by card have in common: fields, what is to be read before the button is pressed, and the button.

import { setNotice, setState } from "../shared/dom";
import { say, type Strings } from "../shared/strings";
import type { FieldName, FormParts } from "../frame/form";
import type { Postcode } from "../postcode/postcode";
import type { Field } from "./field";
import { whenDrawn } from "../shared/when-drawn";

export interface FormEvents {
  readonly changed: () => void;
  readonly submitted: () => void;
  readonly announce: (message: string) => void;
}

type Fields = Readonly<{ code: Field } & Partial<Record<FieldName, Field>>>;

/** What is chosen beside what is typed. */
interface Choice {
  readonly chosen: string;
  setBusy(busy: boolean): void;
}

export class PayForm {
  private amount = "";
  /** Whether the card is stored and nothing is charged. */
  private isFree = false;
  private isBusy = false;
  /** What is asked of the billing address, where that is. */
  address: Postcode | null = null;

  /** `choice` is the scheme's, where there may be one; `read` is what the stash takes, of fields that are right. */
  constructor(
    readonly parts: FormParts,
    private readonly strings: Strings,
    private readonly events: FormEvents,
    private readonly fields: Fields,
    private readonly choice: Choice | null,
    private readonly read: () => object,
  ) {}

  /** The id of the scheme that the shopper chose; "" where there is none to choose. */
  get scheme(): string {
    return this.choice?.chosen ?? "";
  }

  /** Takes what the shopper has typed before. */
  start(): void {
    for (const field of this.all) field.start();
  }

  get element(): HTMLFormElement {
    return this.parts.element;
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
    const keys = { number: "numberInvalid", expiry: "expiryRefused", code: "codeRefused", name: "nameNotName", postcode: "" };
    const refused = this.all.filter(({ input }) => names.includes(input.name as FieldName));
    for (const field of refused) field.refuse({ key: keys[field.input.name as FieldName] });
    this.complain(refused);
    this.events.changed();
  }

  /** What is to be paid. */
  setAmount(amount: string, free: boolean): void {
    [this.amount, this.isFree] = [amount, free];
    this.parts.total.textContent = say(this.strings, "total", { amount });
    this.label();
  }

  /** While a payment is under way nothing can be changed; focus stays where it is. */
  setBusy(busy: boolean): void {
    this.isBusy = busy;
    for (const { input } of this.all) input.readOnly = busy;
    this.choice?.setBusy(busy);
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
    setState(this.parts.button, "aria-disabled", resting);
  }

  /** A message about the payment as a whole; "" takes it away. */
  setNotice(text: string): void {
    setNotice(this.parts.notice, text);
  }

  /** Wipes everything typed. */
  clear(): void {
    for (const field of this.all) field.clear();
    this.events.changed();
  }

  private get all(): Field[] {
    return [...Object.values(this.fields), this.address?.field ?? []].flat();
  }

  private complain(wrong: readonly Field[]): void {
    const first = wrong[0];
    if (first === undefined) return;
    first.input.focus();
    const message = say(this.strings, first.problem?.key ?? "", first.problem?.values);
    this.events.announce(wrong.length > 1 ? `${say(this.strings, "fixFields")} ${message}` : message);
  }

  private label(): void {
    const key = this.isFree ? (this.isBusy ? "saving" : "save") : this.isBusy ? "paying" : "pay";
    this.parts.buttonText.textContent = say(this.strings, key, { amount: this.amount });
  }
}
