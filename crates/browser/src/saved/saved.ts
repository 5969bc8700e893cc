// Entry of saved.js: what only shoppers with saved cards need. The frame loads it when there are some, and draws its own accordion then:
// the codes that are asked for are seen by nobody else, and the merchant's page learns nothing of the cards.

import type { SavedCard, View } from "../payment/api";
import type { Brand } from "../payment/brands";
import type { CardList } from "../payment/forms";
import type { PayForm } from "../payment/pay-form";
import { h, type Child } from "../shared/dom";
import { Entry } from "../shared/entry";
import type { Method } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import { addStyles } from "../shared/styles";
import accordionCss from "../shared/accordion.css";
import plainCss from "../shared/plain.css";
import { Removal } from "./removal";
import css from "./saved.css";

/** What the frame does for its list. */
export interface Frame {
  /** The form of a saved card; `label` names the card, and `suffix` tells the form from others. */
  readonly codeForm: (label: string, suffix: string, codeLength: 3 | 4) => PayForm;
  readonly brandNamed: (id: string) => Brand | null;
  readonly drawingOf: (id: string) => string;
  readonly announce: (text: string) => void;
  /** The heading of a saved card, or "" of a new one, was pressed. */
  readonly toggled: (contract: string) => void;
  /** False when the card is still there. */
  readonly remove: (contract: string) => Promise<boolean>;
  readonly headingLevel: number;
}

/** `text` with nodes in place of its `{placeholders}`. */
function fill(text: string, nodes: Readonly<Record<string, Child>>): Child[] {
  return text.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 1 ? (nodes[part] ?? null) : part));
}

interface Shown {
  readonly entry: Entry;
  readonly removal: Removal | null;
}

export class SavedCards implements CardList {
  readonly element = h("div", { class: "accordion" });
  readonly forms = new Map<string, PayForm>();
  private readonly shown = new Map<string, Shown>();
  private readonly test = h("span", { class: "test" });

  /** `card` is the entry of a new card, whose form is `form`. */
  constructor(private readonly strings: Strings, private readonly card: Method, form: HTMLElement, private readonly frame: Frame) {
    addStyles(document, accordionCss + plainCss + css);
    this.test.textContent = say(strings, "testMode");
    this.element.append(this.add("", card, form, null).element);
  }

  show(view: View): void {
    const { SavedCards: cards = [] } = view;
    for (const contract of this.forms.keys()) if (!cards.some(({ ContractId }) => ContractId === contract)) this.drop(contract);
    const last = this.shown.get("")?.entry;
    for (const card of cards) if (!this.forms.has(card.ContractId)) last?.element.before(this.entryOf(card, view));
    last?.setName(cards.length > 0 ? say(this.strings, "otherCard") : this.card.name);
    this.test.hidden = !view.Sandbox;
    this.shown.get(cards[0]?.ContractId ?? "")?.entry.tag(this.test);
  }

  open(contract: string | null): void {
    for (const [id, { entry, removal }] of this.shown) {
      entry.setOpen(id === contract);
      if (id !== contract) removal?.reset();
    }
  }

  setBusy(busy: boolean): void {
    for (const { entry, removal } of this.shown.values()) {
      entry.setBusy(busy);
      removal?.setBusy(busy);
    }
  }

  focus(contract: string): void {
    this.shown.get(contract)?.entry.toggle.focus();
  }

  private drop(contract: string): void {
    this.shown.get(contract)?.entry.element.remove();
    this.shown.delete(contract);
    this.forms.delete(contract);
  }

  private entryOf({ ContractId, PaymentMethod, Last4: last4, Expiry, Removable }: SavedCard, { PaymentMethods, MerchantName }: View): HTMLElement {
    const { frame, strings } = this;
    const brand = frame.brandNamed(PaymentMethod);
    const name = PaymentMethods.find(({ Id }) => Id === PaymentMethod)?.Name ?? brand?.name ?? PaymentMethod;
    const expiry = Expiry.replace(/^\d\d(\d\d)-(\d\d)$/, "$2/$1");
    const spoken = say(strings, "savedSpoken", { name, last4, expiry });
    const id = `saved-${ContractId}`;
    const form = frame.codeForm(spoken, `-${ContractId}`, brand?.codeLength ?? 3);
    const removal = Removable ? new Removal(strings, id, MerchantName, () => frame.remove(ContractId), frame.announce) : null;
    const method: Method = { id, icon: "card", drawing: frame.drawingOf(PaymentMethod), name, marks: [], accepted: "", line: "", button: "" };
    const entry = this.add(ContractId, method, form.element, removal);
    const number = h("bdi", { dir: "ltr" }, `•••• ${last4}`);
    const shown = fill(say(strings, "savedCard"), { name: h("bdi", {}, name), number, expiry: h("bdi", { class: "until", dir: "ltr" }, expiry) });
    // Dots are nothing to read aloud.
    entry.setName(h("span", { "aria-hidden": "true" }, ...shown), h("span", { class: "unseen" }, spoken));
    entry.element.classList.add("saved");
    this.forms.set(ContractId, form);
    return entry.element;
  }

  private add(contract: string, method: Method, form: HTMLElement, removal: Removal | null): Entry {
    const { toggled, headingLevel } = this.frame;
    const entry = new Entry(method, headingLevel, () => toggled(contract), form, removal && removal.element);
    entry.show(method);
    this.shown.set(contract, { entry, removal });
    return entry;
  }
}
