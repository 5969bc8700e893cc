// One labelled input with its hint and its error line. The line is always there, so an error moves nothing on the page.

import { h, icon, setState, WARNING } from "../shared/dom";
import { say, type Strings } from "../shared/strings";
import { applyEdit, toDigits, type EditKind, type Mask } from "./mask";
import type { Problem } from "./validate";

export interface FieldSetup {
  /** Also the key of the label's text. */
  readonly id: string;
  /** Tells it from the same field of another form. */
  readonly suffix?: string;
  readonly autocomplete: string;
  /** Without a mask the field takes any text. */
  readonly mask?: Mask;
  readonly placeholder?: string;
  /** Id of a text outside the field that is read with it. */
  readonly note?: string;
  readonly problem: (value: string) => Problem | null;
}

export class Field {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  /** Where a brand mark may stand. */
  readonly box: HTMLElement;
  private readonly hint = h("p", { class: "hint" });
  private readonly error: HTMLElement;
  private readonly errorText = h("span");
  private digits = "";
  private kind: EditKind = "insert";
  private refused: Problem | null = null;

  constructor(
    private readonly setup: FieldSetup,
    private readonly strings: Strings,
    private readonly changed: (field: Field) => void,
    private readonly complained: (message: string) => void,
  ) {
    const { mask, autocomplete } = setup;
    const id = setup.id + (setup.suffix ?? "");
    const forDigits = mask ? { inputmode: "numeric", dir: "ltr" } : { dir: "auto", autocapitalize: "words" };
    const quiet = { autocorrect: "off", spellcheck: "false", enterkeyhint: "next" };
    this.hint.id = `${id}-hint`;
    this.error = h("p", { class: "error", id: `${id}-error`, hidden: true }, icon("warning", WARNING), this.errorText);
    const placeholder = setup.placeholder ?? null;
    this.input = h("input", { id, name: setup.id, type: "text", autocomplete, placeholder, "aria-required": "true", ...forDigits, ...quiet });
    this.box = h("div", { class: "box" }, this.input);
    const label = h("label", { for: id }, say(strings, setup.id));
    this.element = h("div", { class: `field ${setup.id}` }, label, this.box, h("div", { class: "under" }, this.hint, this.error));
    this.listen();
  }

  /** Digits of a masked field, the text of any other. */
  get value(): string {
    return this.setup.mask ? this.digits : this.input.value;
  }

  get problem(): Problem | null {
    return this.refused ?? this.setup.problem(this.value);
  }

  setHint(text: string): void {
    if (this.hint.textContent !== text) this.hint.textContent = text;
    this.describe();
  }

  /** Shows what is wrong, if anything, and returns the text. */
  show(problem: Problem | null): string | null {
    const text = problem && say(this.strings, problem.key, problem.values);
    this.errorText.textContent = text ?? "";
    this.error.hidden = text === null;
    this.hint.hidden = text !== null;
    setState(this.input, "aria-invalid", text !== null);
    this.describe();
    return text;
  }

  /** Marks the present value as refused by the service; the next edit lifts it. */
  refuse(problem: Problem): void {
    this.refused = problem;
    this.show(problem);
  }

  clear(): void {
    this.input.value = "";
    this.digits = "";
    this.refused = null;
    this.show(null);
  }

  private describe(): void {
    const own = !this.error.hidden ? this.error.id : this.hint.textContent ? this.hint.id : "";
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
    if (!this.error.hidden) this.show(this.problem);
    this.changed(this);
  }
}
