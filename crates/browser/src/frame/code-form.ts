// The form of a saved card, of which only the security code is asked again.

import { say, type Strings } from "../shared/strings";
import { Field } from "./field";
import { PayForm, type FormEvents } from "./pay-form";
import { codeProblem } from "./validate";

export class CodeForm extends PayForm {
  protected readonly fields: { readonly code: Field };

  /** `label` names the card. */
  constructor(strings: Strings, events: FormEvents, label: string, suffix: string, length: 3 | 4) {
    super(strings, events, label, suffix);
    const mask = { max: () => length, show: (digits: string) => digits };
    const problem = (code: string) => codeProblem(code, length);
    const code = new Field({ id: "code", suffix, autocomplete: "cc-csc", mask, note: `notice${suffix}`, problem }, strings, events.changed, events.announce);
    code.setHint(say(strings, `codeHint${length}`));
    code.input.setAttribute("enterkeyhint", "go");
    this.fields = { code };
    this.fill(code.element);
  }

  protected read(): object {
    return { VerificationCode: this.fields.code.value };
  }
}
