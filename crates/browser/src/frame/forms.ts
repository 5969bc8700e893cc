// All forms that pay by card: that of a new card, and one for each saved card where there are any. One of them is chosen.

import { say, type Strings } from "../shared/strings";
import type { SavedCard, View } from "./api";
import { brandNamed } from "./brands";
import type { CardForm } from "./card-form";
import { CodeForm } from "./code-form";
import type { Agreement } from "./consent";
import { drawingOf } from "./marks";
import type { FormEvents, PayForm } from "./pay-form";

/** A saved card as its entry shows it. */
export interface ListedCard {
  readonly contract: string;
  readonly scheme: string;
  readonly drawing: string;
  readonly last4: string;
  /** As 12/31. */
  readonly expiry: string;
  /** All of it in words, for assistive technology. */
  readonly spoken: string;
  readonly removable: boolean;
  readonly form: HTMLElement;
}

/** What draws an entry for each saved card and one, "", for a new card. Its part is loaded where there are saved cards. */
export interface CardList {
  /** Draws `cards`; an entry that was drawn before and is not among them goes. */
  show(cards: readonly ListedCard[], merchant: string): void;
  /** The entry that is open; `null` closes all. */
  open(contract: string | null): void;
  setBusy(busy: boolean): void;
  /** Goes to the heading of an entry. */
  focus(contract: string): void;
}

export class Forms {
  /** The contract of the saved card that is chosen; "" for a new card. */
  contract = "";
  private readonly saved = new Map<string, CodeForm>();
  private list: CardList | null = null;
  private hidden = false;

  constructor(private readonly card: CardForm, private readonly strings: Strings, private readonly events: FormEvents) {}

  get chosen(): PayForm {
    return this.saved.get(this.contract) ?? this.card;
  }

  /** Whether the shopper wants a new card to be stored. */
  get ticked(): boolean {
    return this.contract === "" && this.card.ticked;
  }

  get listed(): boolean {
    return this.list !== null;
  }

  /** From now on saved cards are shown. The newest is chosen. */
  showIn(list: CardList, cards: readonly SavedCard[]): void {
    this.list = list;
    this.contract = cards[0]?.ContractId ?? "";
  }

  /** What may be paid with now, what is to be paid, and what is agreed to. False when the card that was chosen is no more. */
  setOrder(view: View, amount: string, agreement: Agreement, free: boolean): boolean {
    this.card.setAgreement(agreement);
    const cards = this.list === null ? [] : (view.SavedCards ?? []);
    const kept = new Set(cards.map(({ ContractId }) => ContractId));
    for (const contract of this.saved.keys()) if (!kept.has(contract)) this.saved.delete(contract);
    this.list?.show(cards.map((card) => this.listedCard(view, card)), view.MerchantName);
    const there = this.contract === "" || kept.has(this.contract);
    if (!there) this.contract = "";
    for (const form of this.all) form.setAmount(amount, free && form === this.card);
    return there;
  }

  open(open: boolean): void {
    this.list?.open(open ? this.contract : null);
  }

  focusHeading(): void {
    this.list?.focus(this.contract);
  }

  hideButton(hidden: boolean): void {
    this.hidden = hidden;
    for (const form of this.all) form.hideButton(hidden);
  }

  setBusy(busy: boolean): void {
    this.list?.setBusy(busy);
    for (const form of this.all) form.setBusy(busy);
  }

  rest(resting: boolean): void {
    for (const form of this.all) form.rest(resting);
  }

  /** In the form that is chosen, and nowhere else. */
  setNotice(text: string): void {
    for (const form of this.all) form.setNotice(form === this.chosen ? text : "");
  }

  clear(): void {
    for (const form of this.all) form.clear();
  }

  private get all(): PayForm[] {
    return [...this.saved.values(), this.card];
  }

  private listedCard({ PaymentMethods }: View, { ContractId: contract, PaymentMethod, Last4: last4, Expiry, Removable: removable }: SavedCard): ListedCard {
    const brand = brandNamed(PaymentMethod);
    const scheme = PaymentMethods.find(({ Id }) => Id === PaymentMethod)?.Name ?? brand?.name ?? PaymentMethod;
    const expiry = Expiry.replace(/^\d\d(\d\d)-(\d\d)$/, "$2/$1");
    const spoken = say(this.strings, "savedSpoken", { name: scheme, last4, expiry });
    let form = this.saved.get(contract);
    if (form === undefined) {
      form = new CodeForm(this.strings, this.events, spoken, `-${contract}`, brand?.codeLength ?? 3);
      form.hideButton(this.hidden);
      this.saved.set(contract, form);
    }
    return { contract, scheme, drawing: drawingOf(PaymentMethod), last4, expiry, spoken, removable, form: form.element };
  }
}
