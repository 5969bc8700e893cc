// Entry of dialog.js: the dialog with the bank's page, which the shell loads when a bank asks. The page inside is of our own origin
// and nests the bank's, so that the merchant's CSP need not name any bank.

import { CROSS, h, icon } from "../shared/dom";
import { addStyles } from "../shared/styles";
import { say, type Strings } from "../shared/strings";
import css from "./dialog.css";

/** What a bank may need: passkeys, and the browser's own confirmation of a payment. */
const ALLOW = "publickey-credentials-get *; payment *";

export class Challenge {
  private readonly element = h("dialog", { class: "challenge", "aria-labelledby": "challenge" });

  /** Draws into `place`. */
  constructor(place: Element) {
    addStyles(place.getRootNode() as ShadowRoot, css);
    place.append(this.element);
    // Closed in whatever way: the bank's page goes, the payment waits.
    this.element.addEventListener("close", () => {
      if (!this.element.open) this.element.replaceChildren();
    });
  }

  /** `elsewhere` leaves for the bank's page in the whole window. Focus returns to where it was once the dialog is closed. */
  open(source: URL, lang: string, strings: Strings, elsewhere: () => void): void {
    const name = say(strings, "challengeTitle");
    // For the page inside alone.
    source.hash = new URLSearchParams({ lang, title: name }).toString();
    const title = h("div", { class: "title", id: "challenge", tabindex: "-1", autofocus: true }, name);
    const close = h("button", { type: "button", class: "plain close", "aria-label": say(strings, "close") }, icon("", CROSS));
    const frame = h("iframe", { src: source.href, title: name, allow: ALLOW });
    const leave = h("button", { type: "button", class: "plain" }, say(strings, "elsewhere"));
    close.addEventListener("click", () => this.element.close());
    leave.addEventListener("click", elsewhere);
    this.element.replaceChildren(h("header", {}, title, close), frame, leave);
    if (!this.element.open) this.element.showModal();
  }

  close(): void {
    this.element.close();
  }
}
