// One payment, from the press of the button to its end.
//
// What keeps it to one: a press counts only while the form is open (set aside before anything is sent); the attempt id is
// written down before it is used; whatever is repeated is repeated under that id; and the Session itself pays once.

import { say, type Strings } from "../shared/strings";
import { pause, PAUSES, type Answer, type Api, type Order, type Progress, type View } from "./api";
import type { Card, CardForm, FieldName } from "./card-form";
import type { Link } from "./link";
import { closeAttempt, deviceFingerprint, openAttempt } from "./memory";
import { formatAmount } from "./money";
import type { Screen } from "./screen";

/** Between requests of which several in a row went unanswered. */
const LONG_PAUSE_MS = 4000;
/** Seconds that the service holds a progress request open. */
const WAIT = 25;
/** After this long without an outcome the shopper is told that the payment is being checked. */
const PATIENCE_MS = 25_000;
/** Between two progress requests that the service answered at once. */
const BREATH_MS = 1000;
/** After a changed total the button rests this long, so that the second half of a double click cannot confirm it unseen. */
const REST_MS = 600;

const WARNED: Readonly<Record<string, FieldName>> = {
  CardNumberInvalid: "number",
  CardMonthInvalid: "expiry",
  CardVerificationCodeInvalid: "code",
};

export class Checkout {
  private phase: "form" | "paying" | "over" = "paying";
  private flow = new AbortController();
  private patience: ReturnType<typeof setTimeout> | undefined;
  private selected = true;
  private resting = false;

  constructor(
    private readonly api: Api,
    private readonly sessionId: string,
    private readonly link: Link,
    private readonly screen: Screen,
    private readonly strings: Strings,
    private readonly locale: string,
    private view: View,
  ) {}

  private get form(): CardForm {
    return this.screen.form;
  }

  /** Goes where the Session is: to the form, or after a payment that is already under way or over. */
  begin(notice?: string): void {
    this.form.setAmount(this.amountOf(this.view));
    if (this.view.State === "CREATED") this.openForm(notice);
    else void this.follow(this.newFlow(), null);
  }

  select(selected: boolean): void {
    this.selected = selected;
    this.tellEnabled();
  }

  tellEnabled(): void {
    const enabled = this.phase === "form" && this.selected && !this.resting && this.form.valid;
    this.link.sendEnabled(enabled);
  }

  /** The press of the button, ours or the page's. Does nothing unless the form is open. */
  async pay(): Promise<void> {
    if (this.phase !== "form" || !this.selected || this.resting) return;
    const card = this.form.check();
    if (card === null) return;
    const signal = this.newFlow();
    this.setBusy(true);
    this.form.setNotice(null);
    this.screen.announce(say(this.strings, "paying", { amount: this.amountOf(this.view) }));
    const AttemptId = openAttempt(this.sessionId);
    const order = { Version: this.view.Version, AttemptId, StashId: AttemptId, DeviceFingerprint: deviceFingerprint() };
    if (await this.stash(card, order, signal)) await this.follow(signal, order);
  }

  /** Looks at the Session again, as after the back button brought the page back; `notice` explains what changed. */
  async reload(notice?: (before: View, now: View) => string): Promise<void> {
    if (this.phase === "over") return;
    const signal = this.newFlow();
    this.setBusy(true);
    let answer = await this.api.view(signal);
    while (answer.kind === "unreachable" && !signal.aborted) {
      await pause(LONG_PAUSE_MS, signal);
      answer = await this.api.view(signal);
    }
    if (signal.aborted || answer.kind === "unreachable") return;
    if (answer.kind === "refused") return this.fail(answer.code, answer.message);
    const before = this.view;
    this.view = answer.body;
    if (notice !== undefined) this.rest();
    this.begin(notice?.(before, this.view));
  }

  /** Puts the card into the stash; false when the form is open again and says why. */
  private async stash(card: Card, order: Order, signal: AbortSignal): Promise<boolean> {
    const answer = await this.api.stash(this.view, order, card, signal);
    if (signal.aborted) return false;
    if (answer.kind === "ok" && answer.body.Warnings.length === 0) return true;
    closeAttempt(this.sessionId);
    const names = answer.kind === "ok" ? answer.body.Warnings.flatMap((warning) => WARNED[warning] ?? []) : [];
    this.openForm(names.length > 0 ? undefined : say(this.strings, answer.kind === "unreachable" ? "notSent" : "retype"));
    if (names.length > 0) this.form.refuse(names);
    return false;
  }

  /** Submits `order` (when there is one) until it is answered, then follows the Session to its end. */
  private async follow(signal: AbortSignal, order: Order | null): Promise<void> {
    let asking = order === null;
    let misses = 0;
    if (order === null) this.showProcessing();
    while (!signal.aborted) {
      const asked = Date.now();
      const sending = !asking && order !== null ? order : null;
      const answer = sending ? await this.api.submit(sending, signal) : await this.api.progress(WAIT, signal);
      if (signal.aborted) return;
      if (answer.kind === "unreachable") {
        // Nobody knows whether it arrived. After a few repeats under the same id, say so and ask how it went.
        if (sending && misses === PAUSES.length) (asking = true), this.showChecking();
        await pause(PAUSES[misses] ?? LONG_PAUSE_MS, signal);
        misses = Math.min(misses + 1, PAUSES.length);
        continue;
      }
      misses = 0;
      if (answer.kind === "refused") {
        if (this.refused(answer, sending !== null)) return;
        [order, asking] = [null, true];
        this.showProcessing();
        continue;
      }
      if (this.arrived(answer.body, order)) return;
      // CREATED after a submit that went unanswered: it never arrived, so send it again under the same id.
      asking = order === null || answer.body.State !== "CREATED";
      const early = Date.now() - asked < BREATH_MS;
      if (early && !(sending && asking)) await pause(BREATH_MS, signal);
    }
  }

  /** What a refusal means; false when there is another payment to follow instead. */
  private refused(answer: Extract<Answer<Progress>, { kind: "refused" }>, submitting: boolean): boolean {
    closeAttempt(this.sessionId);
    if (!submitting || answer.status === 404) {
      this.fail(answer.code, answer.message);
    } else if (answer.code === "SESSION_CHANGED") {
      void this.reload((before, now) => this.changeOf(before, now));
    } else if (answer.status === 409) {
      return false;
    } else {
      this.openForm(say(this.strings, "retype"));
    }
    return true;
  }

  /** Shows where the payment is; true when there is nothing left to follow. */
  private arrived(progress: Progress, order: Order | null): boolean {
    switch (progress.State) {
      case "COMPLETED":
        this.end();
        this.link.send({ type: "done", title: say(this.strings, "doneTitle"), text: say(this.strings, "doneText", { merchant: this.view.MerchantName }) });
        return true;
      case "FAILED":
        this.fail(progress.ErrorCode ?? "PAYMENT_FAILED", progress.ErrorMessage);
        return true;
      case "CANCELLED":
        this.fail(progress.ErrorCode ?? "SESSION_CANCELLED", progress.ErrorMessage);
        return true;
      case "CREATED":
        // Not our own attempt, and nobody is paying any more: the form is right again.
        if (order === null) void this.reload();
        return order === null;
      default:
        return false;
    }
  }

  private openForm(notice?: string): void {
    clearTimeout(this.patience);
    this.phase = "form";
    this.setBusy(false);
    this.screen.showForm();
    this.form.setNotice(notice ?? null);
    if (notice !== undefined) this.screen.announce(notice);
  }

  private setBusy(busy: boolean): void {
    if (busy) this.phase = "paying";
    this.form.setBusy(busy);
    this.form.rest(busy || this.resting);
    this.link.send({ type: "busy", busy });
    this.tellEnabled();
  }

  private rest(): void {
    this.resting = true;
    setTimeout(() => {
      this.resting = false;
      this.form.rest(this.phase !== "form");
      this.tellEnabled();
    }, REST_MS);
  }

  private showProcessing(): void {
    this.setBusy(true);
    this.screen.showStatus(say(this.strings, "processingTitle"), say(this.strings, "processingText"));
  }

  private showChecking(): void {
    this.screen.showStatus(say(this.strings, "checkingTitle"), say(this.strings, "checkingText"));
  }

  private fail(code: string, message = ""): void {
    this.end();
    const text = this.strings[`failed.${code}`] ?? say(this.strings, "failed.other");
    this.link.fail(code, message, say(this.strings, "failedTitle"), text);
  }

  private end(): void {
    this.newFlow();
    clearTimeout(this.patience);
    this.phase = "over";
    closeAttempt(this.sessionId);
    this.form.clear();
    this.tellEnabled();
  }

  /** Gives up whatever was under way here (never the payment itself) and starts the clock of what comes next. */
  private newFlow(): AbortSignal {
    this.flow.abort();
    this.flow = new AbortController();
    clearTimeout(this.patience);
    this.patience = setTimeout(() => this.phase === "paying" && this.showChecking(), PATIENCE_MS);
    return this.flow.signal;
  }

  private amountOf(view: View): string {
    return formatAmount(view.TotalAmount, view.Currency, view.MinorUnits, this.locale);
  }

  private changeOf(before: View, now: View): string {
    const [was, amount] = [this.amountOf(before), this.amountOf(now)];
    return say(this.strings, was === amount ? "orderChanged" : "amountChanged", { was, amount });
  }
}
