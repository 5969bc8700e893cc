// What the shopper is told of a payment, in the language of the form.

import { say, type Strings } from "../shared/strings";
import type { Frame } from "../frame/frame";
import { isFree } from "./agreement";
import type { FailedAttempt, View } from "./api";

export class Messages {
  /** More texts may be added to `strings` in place. */
  constructor(private readonly frame: Frame, private readonly strings: Strings) {}

  get lang(): string {
    return document.documentElement.lang;
  }

  say(key: string, values?: Readonly<Record<string, string>>): string {
    return say(this.strings, key, values);
  }

  /** The title and the text of a message. */
  both(what: string, values?: Readonly<Record<string, string>>): { readonly title: string; readonly text: string } {
    return { title: this.say(`${what}Title`), text: this.say(`${what}Text`, values) };
  }

  amountOf(view: View): string {
    return this.frame.amountOf(view, this.lang);
  }

  /** What is said while it is under way. */
  paying(view: View, bySavedCard: boolean): string {
    return this.say(isFree(view) && !bySavedCard ? "saving" : "paying", { amount: this.amountOf(view) });
  }

  /** What to say of an attempt that failed. */
  failureOf(attempt: FailedAttempt | undefined): string | undefined {
    if (attempt === undefined) return undefined;
    const key = `again.${attempt.ErrorCode}`;
    const text = this.say(key in this.strings ? key : "again.other");
    return attempt.AttemptsLeft === 1 ? `${text} ${this.say("lastTry")}` : text;
  }

  /** What the merchant has changed of the Session. */
  changeOf(before: View, now: View): string {
    const [was, amount] = [this.amountOf(before), this.amountOf(now)];
    return this.say(was === amount ? "orderChanged" : "amountChanged", { was, amount });
  }
}
