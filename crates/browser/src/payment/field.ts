// What happens in a field: what is typed is masked, checked when the shopper leaves it, and put right under the shopper's eyes.

import { setState } from "../shared/dom";
import { say, type Strings } from "../shared/strings";
import type { FieldParts } from "../frame/form";
import { applyEdit, toDigits, type EditKind, type Mask } from "./mask";
import type { Problem } from "./validate";

export interface FieldSetup {
  /** Without a mask the field takes any text. */
  readonly mask?: Mask;
  /** Id of a text outside the field that is read with it. */
  readonly note?: string;
  readonly problem: (value: string) => Problem | null;
  /** What is wrong with a value that the service refuses, where that says more than is said of it in every field of its kind. */
  readonly refusal?: Problem;
}

export class Field {
  readonly input: HTMLInputElement;
  private digits = "";
  private kind: EditKind = "insert";
  private refused: Problem | null = null;

  /** `changed` hears of each edit, `complained` of an error when the shopper leaves the field. */
  constructor(
    readonly parts: FieldParts,
    private readonly setup: FieldSetup,
    private readonly strings: Strings,
    private readonly changed: (field: Field) => void,
    private readonly complained: (message: string) => void,
  ) {
    this.input = parts.input;
    this.describe();
    this.listen();
  }

  /** Takes what the shopper has typed before. */
  start(): void {
    if (this.input.value !== "") this.edited();
  }

  /** Digits of a masked field, the text of any other. */
  get value(): string {
    return this.setup.mask ? this.digits : this.input.value;
  }

  get problem(): Problem | null {
    return this.refused ?? this.setup.problem(this.value);
  }

  setHint(text: string): void {
    if (this.parts.hint.textContent !== text) this.parts.hint.textContent = text;
    this.describe();
  }

  /** Shows what is wrong, if anything, and returns the text. */
  show(problem: Problem | null): string | null {
    const text = problem && say(this.strings, problem.key, problem.values);
    this.parts.errorText.textContent = text ?? "";
    this.parts.error.hidden = text === null;
    this.parts.hint.hidden = text !== null;
    setState(this.input, "aria-invalid", text !== null);
    this.describe();
    return text;
  }

  /** Marks the present value as refused by the service; the next edit lifts it. */
  refuse(problem: Problem): void {
    this.refused = this.setup.refusal ?? problem;
    this.show(this.refused);
  }

  clear(): void {
    this.input.value = "";
    this.digits = "";
    this.refused = null;
    this.show(null);
  }

  private describe(): void {
    const own = !this.parts.error.hidden ? this.parts.error.id : this.parts.hint.textContent ? this.parts.hint.id : "";
    const shown = `${own} ${this.setup.note ?? ""}`.trim();
    if (shown === "") this.input.removeAttribute("aria-describedby");
    else this.input.setAttribute("aria-describedby", shown);
  }

  private listen(): void {
    const { input } = this;
    input.addEventListener("beforeinput", (event) => {
      const deletes = event.inputType.startsWith("delete");
      this.kind = !deletes ? "insert" : event.inputType.includes("Forward") ? "forward" : "backward";
    });
    input.addEventListener("input", (event) => {
      if (!(event as InputEvent).isComposing) this.edited();
    });
    input.addEventListener("compositionend", () => this.edited());
    input.addEventListener("blur", () => {
      if (this.setup.mask && toDigits(input.value) !== this.digits) this.edited();
      if (input.value.trim() === "") return;
      const said = this.show(this.problem);
      if (said !== null) this.complained(said);
    });
  }

  private edited(): void {
    const { input, setup } = this;
    this.refused = null;
    if (setup.mask) {
      const caret = input.selectionStart ?? input.value.length;
      const edit = applyEdit(setup.mask, this.digits, input.value, caret, this.kind);
      this.digits = edit.digits;
      if (input.value !== edit.value) input.value = edit.value;
      if (document.activeElement === input) input.setSelectionRange(edit.caret, edit.caret);
    }
    this.kind = "insert";
    // An error that is shown goes as soon as it is put right; a new one waits for the shopper to leave the field.
    if (!this.parts.error.hidden) this.show(this.problem);
    this.changed(this);
  }
}
