// Entry of postcode.js: what only shoppers need whose Session has no postcode that the issuer of a card could compare. The frame loads it where the
// service asks for one. What is typed is of one attempt: nothing of it is kept, here or by the service.

import type { FieldParts } from "../frame/form";
import type { Frame } from "../frame/frame";
import type { BillingAddress, View } from "../payment/api";
import type { Field, FieldSetup } from "../payment/field";
import { say } from "../shared/strings";

/** The field of a postcode, below the name on the card. */
export class Postcode {
  /** `null` where nothing is asked. */
  field: Field | null = null;
  private shown = "";

  /** `make` has a field check what is typed, `digitOf` is the ASCII digit that a digit of any script stands for. */
  constructor(private readonly frame: Frame, private readonly make: (parts: FieldParts, setup: FieldSetup) => Field, private readonly digitOf: (character: string) => string) {}

  /** What was typed, with digits of ASCII; `null` where nothing is asked. */
  get value(): BillingAddress | null {
    return this.field && { Postcode: this.read(this.field.value) };
  }

  /** Draws the field that `view` asks for, and takes away one that it does not ask for. */
  show({ AddressFields }: View): void {
    const { frame, make } = this;
    const asked = AddressFields?.find(({ Name }) => Name === "Postcode");
    const pattern = asked?.Pattern ?? "";
    if (pattern === this.shown) return;
    this.shown = pattern;
    this.field?.parts.element.remove();
    this.field = null;
    if (asked === undefined) return;
    const { name } = frame.form.fields;
    const parts = frame.drawField(frame.strings, "postcode", "", "billing postal-code", say(frame.strings, "postcodeHint"));
    // Whose form has letters is typed with them.
    if (/[A-Z]/.test(pattern)) Object.assign(parts.input, { inputMode: "text", autocapitalize: "characters" });
    parts.input.enterKeyHint = "go";
    name.input.enterKeyHint = "next";
    name.element.after(parts.element);
    const whole = new RegExp(`^(?:${pattern})$`);
    const refusal = { key: "postcodeInvalid", values: { example: asked.Example } };
    const problem: FieldSetup["problem"] = (value) => {
      const text = this.read(value);
      return text === "" ? { key: "postcodeMissing" } : whole.test(text) ? null : refusal;
    };
    this.field = make(parts, { problem, refusal });
  }

  private read(text: string): string {
    return text.trim().replace(/\p{Nd}/gu, this.digitOf);
  }
}
