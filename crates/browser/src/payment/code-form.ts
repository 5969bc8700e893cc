// The form of a saved card, of which only the security code is asked again.

import { say } from "../shared/strings";
import type { Frame } from "../frame/frame";
import { Field } from "./field";
import { PayForm, type FormEvents } from "./pay-form";
import { codeProblem } from "./validate";

/** `label` names the card. */
export function codeForm({ strings, drawField, drawForm }: Frame, events: FormEvents, label: string, suffix: string, length: 3 | 4): PayForm {
  const parts = drawField(strings, "code", suffix, "cc-csc", say(strings, `codeHint${length}`));
  const setup = { mask: { max: () => length, show: (digits: string) => digits }, note: `notice${suffix}`, problem: (value: string) => codeProblem(value, length) };
  const code = new Field(parts, setup, strings, events.changed, events.announce);
  const form = drawForm(label, suffix, parts.element);
  form.element.addEventListener("submit", (event) => {
    event.preventDefault();
    events.submitted();
  });
  return new PayForm(form, strings, events, { code }, null, () => ({ VerificationCode: code.value }));
}
