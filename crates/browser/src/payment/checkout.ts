// One payment, from the press of the button to its end.
//
// What keeps it to one: a press counts only while the form is open (set aside before anything is sent); the attempt id is
// written down before it is used; whatever is repeated is repeated under that id; and the Session itself pays once.

import { CARDS, type ShellMessage } from "../shared/protocol";
import { load } from "../shared/lazy-module";
import type { Frame } from "../frame/frame";
import type { FieldName } from "../frame/form";
import type { PayForm } from "./pay-form";
import { agreementOf, consentOf, isFree } from "./agreement";
import type { ApiResult, Api, FailedAttempt, Submission, Progress, Secret, View } from "./api";
import { closeAttempt, deviceFingerprint, openAttempt } from "./attempt-storage";
import { detailsOf } from "./bank";
import { ExpiryWatch } from "./expiry";
import { follow, readView } from "./follow";
import type { Forms } from "./forms";
import { whenDrawn } from "../shared/when-drawn";
import type { Texts } from "./texts";
import { Messages } from "./messages";
import type * as Wallet from "../wallet/wallet";

/** After this long without an outcome the shopper is told that the payment is being checked. */
const CHECKING_AFTER_MS = 25_000;
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
  private slowTimer: ReturnType<typeof setTimeout> | undefined;
  /** The method that is open in the accordion; "" when none is. */
  private method = "";
  private resting = false;
  /** The form whose card was sent as it stands there. */
  private sent: PayForm | null = null;
  /** Where the shell was last told that the shopper has to go. */
  private away = "";
  /** The attempt that waits there. */
  private awayAttempt = "";
  /** Whether the shell has the form of this view already. */
  private isDrawn: boolean;
  /** What the shell was told last of what can be submitted: only changes are told. */
  private toldEnabled = "";
  /** Whether the shell was told all texts. */
  private isToldAll = false;
  private view: View;
  private readonly messages: Messages;
  private readonly expiry = new ExpiryWatch(() => this.phase === "form" && void this.reload());

  constructor(private readonly frame: Frame, private readonly api: Api, private readonly forms: Forms, private readonly texts: Texts) {
    this.view = frame.view;
    this.isDrawn = frame.isShown;
    this.messages = new Messages(frame, texts.strings);
  }

  /** Shows the Session for the first time, or takes over the form that is shown. Where a payment was begun, there is more to say. */
  async start(): Promise<void> {
    const fresh = this.view.State === "CREATED" && this.view.Attempt === undefined;
    if (!fresh) await this.texts.wait(this.flow.signal);
    this.begin();
    void this.complete();
  }

  /** What the shell says. */
  heard(message: ShellMessage): void {
    const { link, offer } = this.frame;
    switch (message.type) {
      case "select":
        return this.select(message.method);
      case "submit":
        return void this.pay();
      case "another":
        return void this.payAnotherWay();
      case "wallet":
        // The sheet closes where there is no answer.
        load<typeof Wallet>(WALLET, location.href).then((part) => part.answer(message.ask, this.view, offer.origin, link, this)).catch(() => link.send({ type: "wallet", session: {} }));
    }
  }

  /** Goes where the Session is: to the form, or after a payment that is already under way or over. */
  private begin(notice = this.messages.failureOf(this.view.Attempt)): void {
    this.expiry.watch(this.view);
    if (this.view.Attempt) closeAttempt(this.sessionId, this.view.Attempt.AttemptId);
    const there = this.setOrder();
    if (this.isDrawn) this.isDrawn = false;
    else this.showModel();
    this.forms.open(this.byCard);
    if (!there) whenDrawn(() => this.forms.focusHeading());
    if (this.view.State === "CREATED") this.openForm(notice);
    else void this.follow(this.newFlow(), null);
  }

  private setOrder(): boolean {
    return this.forms.setOrder(this.view, this.messages.amountOf(this.view), agreementOf(this.texts.strings, this.view), isFree(this.view));
  }

  private get sessionId(): string {
    return this.view.SessionId;
  }

  select(method: string): void {
    this.method = method;
    this.forms.open(this.byCard);
    this.tellEnabled();
  }

  /** The heading of a saved card, or "" of a new one, was pressed. */
  toggle(contract: string): void {
    if (this.phase !== "form") return;
    const open = !this.byCard || this.forms.contract !== contract;
    this.forms.contract = contract;
    if (this.byCard && open) this.select(CARDS);
    // The shell knows what else is open.
    else this.frame.link.send({ type: "choose", open });
  }

  tellEnabled(): void {
    const enabled = this.phase === "form" && this.method !== "" && !this.resting && (!this.byCard || this.forms.chosen.valid);
    const news = `${enabled} ${this.method}`;
    if (news === this.toldEnabled) return;
    this.toldEnabled = news;
    this.frame.link.send({ type: "enabled", enabled, method: this.method });
  }

  /**
   * The press of the button, ours or the page's, or the shopper's word in a wallet's sheet, which handed over `token`. Does nothing
   * unless the form is open.
   */
  async pay(token?: object): Promise<void> {
    if (this.phase !== "form" || (this.method === "" && !token) || this.resting) return;
    const form = this.byCard && !token ? this.forms.chosen : null;
    const card = form && form.check();
    if (form !== null && card === null) return;
    const scheme = form?.scheme ?? "";
    const signal = this.newFlow();
    this.notify("");
    const paying = this.messages.paying(this.view, this.forms.contract !== "");
    this.setBusy(true, card === null ? paying : "");
    if (card !== null) this.frame.announce(paying);
    const complete = await this.complete();
    if (signal.aborted) return;
    if (!complete) return this.openForm(this.messages.say("notSent"));
    this.sent = form;
    const AttemptId = openAttempt(this.sessionId);
    const ContractId = form === null ? "" : this.forms.contract;
    const of = ContractId === "" ? consentOf(this.view, this.messages.lang, form !== null && this.forms.isTicked) : { ContractId };
    const attempt = { Version: this.view.Version, AttemptId, DeviceFingerprint: deviceFingerprint(), ...of };
    const secret: Secret | null = token ? { token_data: JSON.stringify(token) } : card && { card: JSON.stringify(card) };
    const PaymentMethod = secret ? scheme : this.method;
    const BillingAddress = form?.address?.value;
    const order: Submission = { ...attempt, ...(secret && { StashId: AttemptId }), ...(PaymentMethod === "" ? {} : { PaymentMethod }), ...(BillingAddress && { BillingAddress }) };
    if (!secret || (await this.stash(secret, order, signal))) await this.follow(signal, order);
  }

  /** The shopper gives up the page that the payment waits on. What was paid there meanwhile counts. */
  async payAnotherWay(): Promise<void> {
    if (this.away === "") return;
    const signal = this.newFlow();
    this.setBusy(true);
    this.showStatus("stopping");
    await this.follow(signal, null, () => this.api.payAnotherWay(this.awayAttempt, signal));
  }

  /** The shopper does not want a saved card to be kept. False when it still is, and the shopper may try again. */
  async remove(contract: string): Promise<boolean> {
    if (this.phase !== "form" || this.resting) return false;
    this.setResting(true);
    const answer = await this.api.removeCard(contract, this.flow.signal);
    this.setResting(false);
    if (answer.kind === "refused" && answer.status === 409) void this.reload();
    else if (answer.kind === "ok" || (answer.kind === "refused" && answer.status === 404)) this.forget(contract);
    else return false;
    return true;
  }

  private forget(contract: string): void {
    this.view = this.forms.without(contract, this.view);
    this.setOrder();
    this.select(this.method);
    this.forms.focusHeading();
    this.frame.announce(this.messages.say("removed"));
  }

  /** Looks at a Session that expired meanwhile, as when the page was out of sight or the computer slept. */
  checkExpiry(): void {
    this.expiry.check();
  }

  private showModel(): void {
    this.isToldAll = this.texts.isWhole;
    this.frame.link.send({ type: "ready", model: this.frame.viewModelOf(this.texts.strings, this.view, this.forms.listed) });
  }

  /** Has the texts that follow a press ready, and the shell knows them; false when they cannot be had now. */
  private async complete(): Promise<boolean> {
    const complete = await this.texts.complete();
    if (complete && !this.isToldAll) this.showModel();
    return complete;
  }

  private get byCard(): boolean {
    return this.method === CARDS;
  }

  /** Looks at the Session again, as after the back button brought the page back; `notice` explains what changed. */
  async reload(notice?: (before: View, now: View) => string | undefined): Promise<void> {
    if (this.phase === "over") return;
    const signal = this.newFlow();
    this.setBusy(true);
    const answer = await readView(this.api, signal);
    if (signal.aborted || answer.kind === "unreachable") return;
    if (answer.kind === "refused") return this.fail(answer.code);
    await this.forms.prepare(answer.body, false);
    await this.texts.wait(signal);
    if (signal.aborted) return;
    const before = this.view;
    this.view = answer.body;
    if (notice !== undefined) this.rest();
    this.begin(notice?.(before, this.view));
  }

  /** Puts a card or a token into the stash; false when the form is open again and says why. */
  private async stash(secret: Secret, order: Submission, signal: AbortSignal): Promise<boolean> {
    const answer = await this.api.stash(this.view, order, secret, signal);
    if (signal.aborted) return false;
    // Of a saved card nothing but the code is in the stash, which misses the rest.
    const warnings = (answer.kind === "ok" ? answer.body.Warnings : []).filter((warning) => order.ContractId === undefined || WARNED[warning] === "code");
    if (answer.kind === "ok" && warnings.length === 0) return true;
    closeAttempt(this.sessionId);
    const names = warnings.flatMap((warning) => WARNED[warning] ?? []);
    this.openForm(names.length > 0 ? undefined : this.messages.say(answer.kind === "unreachable" ? "notSent" : "retype"));
    if (names.length > 0) this.forms.chosen.refuse(names);
    return false;
  }

  /** Submits `order` (when there is one), or makes the call `first`, until it is answered; then follows the Session to its end. */
  private async follow(signal: AbortSignal, order: Submission | null, first?: () => Promise<ApiResult<Progress>>): Promise<void> {
    if (order === null && !first) this.showProcessing();
    await follow(this.api, this, signal, order, first);
  }

  /** What a refusal means; false when there is another payment to follow instead. */
  refused(answer: Extract<ApiResult<Progress>, { kind: "refused" }>, sent: Submission | null): boolean {
    closeAttempt(this.sessionId);
    // A rate whose guarantee has ended is for the shop to renew: nothing in this Session can be paid until then.
    if (sent === null || answer.status === 404 || answer.code === "RATE_OFFER_EXPIRED") {
      this.fail(answer.code);
    } else if (answer.code === "SESSION_CHANGED") {
      void this.reload((before, now) => this.messages.changeOf(before, now));
    } else if (answer.status === 409) {
      return false;
    } else if (answer.fields.some((field) => field.startsWith("BillingAddress"))) {
      // The merchant may ask for more, or for no more of it, meanwhile.
      void this.reload(() => this.messages.say("retype")).then(() => this.forms.chosen.refuse(["postcode"]));
    } else if (answer.fields.includes("ContractId")) {
      void this.reload(() => this.messages.say("savedGone"));
    } else {
      this.openForm(this.messages.say(sent.StashId === undefined ? "methodRefused" : "retype"));
    }
    return true;
  }

  /** Shows where the payment is; true when there is nothing left to follow. */
  arrived(progress: Progress, order: Submission | null): boolean {
    switch (progress.State) {
      case "COMPLETED":
        this.succeed(progress);
        return true;
      case "FAILED":
      case "CANCELLED":
        this.fail(String(progress.ErrorCode));
        return true;
      case "CREATED":
        // The service knows of no attempt under this id: the submit never arrived, and is sent again.
        if (order !== null && progress.Attempt?.AttemptId !== order.AttemptId) return false;
        // Nobody is paying any more: the form is right again.
        closeAttempt(this.sessionId);
        void this.retry(progress.Attempt);
        return true;
      case "REDIRECTED":
        // A shopper who has just pressed the button is taken there; one who comes back, or only watches, is asked.
        if (progress.Checking !== true) this.showAway(progress, order !== null);
        else this.showChecking();
        return false;
      default:
        if (this.away !== "") this.cameBack();
        if (progress.Checking === true) this.showChecking();
        return false;
    }
  }

  /** Back to the form after an attempt that failed, with the reason and the amount as it is now. */
  private async retry(attempt: FailedAttempt | undefined): Promise<void> {
    const failure = this.messages.failureOf(attempt);
    if (attempt !== undefined) this.frame.link.send({ type: "attempt", code: attempt.ErrorCode, left: attempt.AttemptsLeft });
    await this.reload((before, now) => {
      const changed = before.Version !== now.Version && this.messages.amountOf(before) !== this.messages.amountOf(now);
      return [failure ?? this.messages.failureOf(now.Attempt), changed && this.messages.changeOf(before, now)].filter(Boolean).join(" ");
    });
    const { sent } = this;
    if (sent === null || this.phase !== "form") return;
    this.sent = null;
    // A saved card that its bank declined for good is there no more.
    if (sent === this.forms.chosen) sent.retry();
    this.tellEnabled();
  }

  private openForm(notice?: string): void {
    clearTimeout(this.slowTimer);
    this.phase = "form";
    this.setBusy(false);
    this.notify(notice ?? "");
  }

  /** What to read before the next press stands where that press will be. */
  private notify(text: string): void {
    this.forms.setNotice(this.byCard ? text : "");
    // A shopper who has pressed again meanwhile hears of that press.
    if (this.byCard && text !== "") whenDrawn(() => this.phase === "form" && this.frame.announce(text));
    this.frame.link.send({ type: "notice", text: this.byCard ? "" : text });
  }

  private setBusy(busy: boolean, text = ""): void {
    if (busy) this.phase = "paying";
    this.forms.setBusy(busy);
    this.forms.rest(busy || this.resting);
    this.frame.link.send({ type: "busy", busy, text });
    this.tellEnabled();
  }

  private rest(): void {
    this.setResting(true);
    setTimeout(() => this.setResting(false), REST_MS);
  }

  private setResting(resting: boolean): void {
    this.resting = resting;
    this.forms.rest(resting || this.phase !== "form");
    this.tellEnabled();
  }

  showProcessing(): void {
    this.setBusy(true);
    this.showStatus("processing");
  }

  showStatus(what: "processing" | "checking" | "stopping"): void {
    this.frame.link.send({ type: "status", ...this.messages.both(what) });
  }

  private showChecking(): void {
    this.away = "";
    this.setBusy(true);
    this.showStatus("checking");
  }

  /** The payment waits for the shopper, who may take all the time that the method gives. */
  private showAway({ RedirectUrl: url = "", Challenge: challenge = false, AttemptId = openAttempt(this.sessionId) }: Progress, now: boolean): void {
    if (this.away === url) return;
    [this.away, this.awayAttempt] = [url, AttemptId];
    clearTimeout(this.slowTimer);
    this.setBusy(true);
    const what = challenge ? "challenge" : "away";
    this.frame.link.send({ type: "away", ...this.messages.both(what), url, challenge, now });
  }

  private cameBack(): void {
    this.away = "";
    this.startSlowTimer();
    this.showProcessing();
  }

  private succeed({ BankDetails: bank, OrderId: orderId = "", OrderState: state = "", PaymentMethod: method = "" }: Progress): void {
    this.end();
    const what = bank ? "bank" : isFree(this.view) ? "saved" : "done";
    const details = bank ? detailsOf(this.texts.strings, this.messages.lang, this.messages.amountOf(this.view), this.view, bank) : [];
    this.frame.link.send({ type: "done", ...this.messages.both(what, { merchant: this.view.MerchantName }), details, paid: { state, orderId, method } });
  }

  private fail(code: string): void {
    this.end();
    const text = this.texts.strings[`failed.${code}`] ?? this.messages.say("failed.other");
    this.frame.link.fail(code, "", this.messages.say("failedTitle"), text);
  }

  private end(): void {
    this.newFlow();
    clearTimeout(this.slowTimer);
    this.expiry.stop();
    this.phase = "over";
    closeAttempt(this.sessionId);
    this.forms.clear();
    this.tellEnabled();
  }

  /** Gives up whatever was under way here (never the payment itself) and starts the clock of what comes next. */
  private newFlow(): AbortSignal {
    this.flow.abort();
    this.flow = new AbortController();
    this.away = "";
    this.startSlowTimer();
    return this.flow.signal;
  }

  private startSlowTimer(): void {
    clearTimeout(this.slowTimer);
    this.slowTimer = setTimeout(() => this.phase === "paying" && this.showStatus("checking"), CHECKING_AFTER_MS);
  }
}
