// Entry of schemes.js: what only shoppers with a co-badged card need. The frame loads it where the Session takes a scheme that no number tells by
// itself, once a number is typed. It holds which numbers bear a second mark, so that nobody is asked and no digit leaves the frame for it.

import { CO_BADGED } from "virtual:co-badged";
import { h, setState } from "../shared/dom";
import { draw } from "../shared/mark";
import { longestPrefix } from "../shared/prefixes";
import { say, type Strings } from "../shared/strings";
import { addStyles } from "../shared/styles";
import css from "./schemes.css";

export interface Scheme {
  readonly id: string;
  readonly name: string;
  readonly drawing: string;
}

/** Ids of the schemes, beside the one whose number it is, whose mark a card bears that begins with `digits`. */
export function secondSchemes(digits: string): string[] {
  return Object.entries(CO_BADGED).filter(([, ranges]) => longestPrefix(digits, ranges.split(" ")) > 0).map(([id]) => id);
}

/** The choice between the schemes of a co-badged card (Regulation (EU) 2015/751, article 8), below its number. */
export class SchemeChoice {
  private readonly legend = h("legend");
  private readonly options = h("div", { class: "options" });
  private readonly element = h("fieldset", { class: "schemes", hidden: true }, this.legend, this.options);
  private shown = "";
  private busy = false;
  /** The scheme to pay by, of those that `show` was told; "" where it was told none. */
  chosen = "";

  /** `number` is the number's field; `changed` hears of each choice. */
  constructor(private readonly strings: Strings, number: HTMLElement, private readonly changed: () => void, private readonly announce: (text: string) => void) {
    addStyles(document, css);
    number.after(this.element);
  }

  /** Shows the choice between `schemes`, the first of which is chosen until the shopper chooses; with fewer than two there is none. */
  show(schemes: readonly Scheme[]): void {
    const key = schemes.map(({ id }) => id).join();
    if (key === this.shown) return;
    this.shown = key;
    this.chosen = schemes[0]?.id ?? "";
    this.element.hidden = schemes.length < 2;
    this.options.replaceChildren(...schemes.map((scheme) => this.option(scheme)));
    if (this.element.hidden) return;
    const question = say(this.strings, "schemeChoice");
    this.legend.textContent = question;
    const names = new Intl.ListFormat(document.documentElement.lang, { type: "disjunction" }).format(schemes.map(({ name }) => name));
    this.announce(`${question}: ${names}`);
  }

  setBusy(busy: boolean): void {
    this.busy = busy;
    // Unlike ones that are disabled they keep the focus.
    for (const input of this.options.querySelectorAll("input")) setState(input, "aria-disabled", busy);
  }

  private option({ id, name, drawing }: Scheme): HTMLElement {
    const input = h("input", { type: "radio", name: "scheme", value: id, id: `scheme-${id}` });
    input.checked = id === this.chosen;
    input.addEventListener("click", (event) => this.busy && event.preventDefault());
    input.addEventListener("change", () => {
      this.chosen = id;
      this.changed();
    });
    return h("label", { for: input.id }, input, drawing === "" ? null : draw(drawing, ""), h("span", {}, name));
  }
}
