// Entry of saved.js: what only shoppers with saved cards need. The frame loads it when there are some, and draws its own accordion then:
// the codes that are asked for are seen by nobody else, and the merchant's page learns nothing of the cards.

import type { CardList, ListedCard } from "../frame/forms";
import { h, type Child } from "../shared/dom";
import { Entry } from "../shared/entry";
import type { Method } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import { addStyles } from "../shared/styles";
import accordionCss from "../shared/accordion.css";
import { Removal } from "./removal";
import css from "./saved.css";

export interface ListEvents {
  /** The heading of a saved card, or "" of a new one, was pressed. */
  readonly toggled: (contract: string) => void;
  /** False when the card is still there. */
  readonly remove: (contract: string) => Promise<boolean>;
  readonly announce: (text: string) => void;
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
  private readonly shown = new Map<string, Shown>();
  private readonly test: HTMLElement | null;

  /** `card` is the entry of a new card, whose form is `form`. */
  constructor(private readonly strings: Strings, private readonly card: Method, form: HTMLElement, sandbox: boolean, private readonly events: ListEvents) {
    addStyles(form, accordionCss + css);
    this.test = sandbox ? h("span", { class: "test" }, say(strings, "testMode")) : null;
    this.element.append(this.add("", card, form, null));
  }

  show(cards: readonly ListedCard[], merchant: string): void {
    for (const [contract, { entry }] of this.shown) {
      if (contract === "" || cards.some((card) => card.contract === contract)) continue;
      entry.element.remove();
      this.shown.delete(contract);
    }
    const last = this.shown.get("")?.entry;
    for (const card of cards) if (!this.shown.has(card.contract)) last?.element.before(this.entryOf(card, merchant));
    last?.setName(cards.length > 0 ? say(this.strings, "otherCard") : this.card.name);
    if (this.test !== null) this.shown.get(cards[0]?.contract ?? "")?.entry.tag(this.test);
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

  private entryOf({ contract, scheme, drawing, last4, expiry, spoken, removable, form }: ListedCard, merchant: string): HTMLElement {
    const id = `saved-${contract}`;
    const removal = removable ? new Removal(this.strings, id, merchant, () => this.events.remove(contract), this.events.announce) : null;
    const element = this.add(contract, { id, icon: "card", drawing, name: "", marks: [], accepted: "", line: "", button: "" }, form, removal);
    const number = h("bdi", { dir: "ltr" }, `•••• ${last4}`);
    const until = h("bdi", { class: "until", dir: "ltr" }, expiry);
    const entry = this.shown.get(contract)?.entry;
    entry?.setName(...fill(say(this.strings, "savedCard"), { name: h("bdi", {}, scheme), number, expiry: until }));
    entry?.toggle.setAttribute("aria-label", spoken);
    element.classList.add("saved");
    return element;
  }

  private add(contract: string, method: Method, form: HTMLElement, removal: Removal | null): HTMLElement {
    const { headingLevel } = this.events;
    const events = { toggled: () => this.events.toggled(contract), pressed: () => {}, hideButtons: true, headingLevel };
    const entry = new Entry(method, events, [form, removal && removal.element]);
    entry.show(method);
    this.shown.set(contract, { entry, removal });
    return entry.element;
  }
}
