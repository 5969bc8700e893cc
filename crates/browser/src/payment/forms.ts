// All forms that pay by card: that of a new card, and where there are saved cards one for each. One of them is chosen.

import type { View } from "./api";
import type { FormParts } from "../frame/form";
import type { PayForm } from "./pay-form";
import type { Agreement, AgreementBox } from "./agreement";

/** What draws an entry for each saved card, and one for a new card; its part is loaded where there are saved cards. */
export interface CardList {
  /** By their contracts. */
  readonly forms: ReadonlyMap<string, PayForm>;
  /** Draws the cards that `view` has; an entry that was drawn before and is not among them goes. */
  show(view: View): void;
  /** The entry that is open; `null` closes all. */
  open(contract: string | null): void;
  setBusy(busy: boolean): void;
  /** Goes to the heading of an entry. */
  focus(contract: string): void;
}

export class Forms {
  /** The contract of the saved card that is chosen; "" for a new card. */
  contract = "";
  private list: CardList | null = null;
  private drawing: Promise<CardList | null> | undefined;
  private hidden = false;

  /** `hide` hides the button of a form; `draw` loads and draws the list, `null` where that cannot be had; `askAddress` draws what is asked of the billing address. */
  constructor(private readonly card: PayForm, private readonly agreement: AgreementBox, private readonly hide: (form: FormParts, hidden: boolean) => void, private readonly draw: () => Promise<CardList | null>, private readonly askAddress: (view: View) => Promise<void>) {}

  get chosen(): PayForm {
    return this.list?.forms.get(this.contract) ?? this.card;
  }

  /** Whether the shopper wants a new card to be stored. */
  get isTicked(): boolean {
    return this.agreement.isTicked;
  }

  get listed(): boolean {
    return this.list !== null;
  }

  /** Has the fields there that are asked for, and the list once there are saved cards. `newest` chooses the first of them. */
  async prepare(view: View, newest: boolean): Promise<void> {
    await this.askAddress(view);
    const { SavedCards: [card] = [] } = view;
    if (this.list !== null || card === undefined) return;
    this.list = await (this.drawing ??= this.draw());
    if (newest && this.list !== null) this.contract = card.ContractId;
  }

  /** What may be paid with now, what is to be paid, and what is agreed to. False when the card that was chosen is no more. */
  setOrder(view: View, amount: string, agreement: Agreement, free: boolean): boolean {
    this.agreement.show(agreement);
    this.list?.show(view);
    for (const form of this.all) form.setAmount(amount, free && form === this.card);
    this.hideButton(this.hidden);
    if (this.contract === "" || this.chosen !== this.card) return true;
    this.contract = "";
    return false;
  }

  /** The view without a saved card. The next one is chosen in its place, else the last, else a new card. */
  without(contract: string, view: View): View {
    const cards = view.SavedCards ?? [];
    const place = cards.findIndex(({ ContractId }) => ContractId === contract);
    const left = cards.filter(({ ContractId }) => ContractId !== contract);
    this.contract = (left[place] ?? left.at(-1))?.ContractId ?? "";
    return { ...view, SavedCards: left };
  }

  open(open: boolean): void {
    this.list?.open(open ? this.contract : null);
  }

  focusHeading(): void {
    this.list?.focus(this.contract);
  }

  hideButton(hidden: boolean): void {
    this.hidden = hidden;
    for (const form of this.all) this.hide(form.parts, hidden);
  }

  setBusy(busy: boolean): void {
    this.list?.setBusy(busy);
    this.agreement.setBusy(busy);
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
    this.agreement.clear();
    for (const form of this.all) form.clear();
  }

  private get all(): PayForm[] {
    return [...(this.list?.forms.values() ?? []), this.card];
  }
}
