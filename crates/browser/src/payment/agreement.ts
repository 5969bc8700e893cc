// What the shopper agrees to where the payment opens a contract, or may open one, and how the service is told of it.

import { h, setState } from "../shared/dom";
import { say, type Strings } from "../shared/strings";
import type { FormParts } from "../frame/form";
import type { Consent, View } from "./api";

/** Of each text in all languages, by its key: another one whenever it changes in any that had it. It stands with the contract for ever, beside the language. */
export const TEXT_VERSIONS: Readonly<Record<string, string>> = {
  agree: "2026-11",
  "allow.ONE_CLICK": "2026-11-one-click",
  "allow.UNSCHEDULED": "2026-11-unscheduled",
};

export interface Agreement {
  /** The text that is shown; "" where nothing is agreed to. */
  readonly text: string;
  /** Whether the shopper agrees by ticking a box, and may leave it empty. */
  readonly optional: boolean;
}

/** The key of the text; "" where there is nothing to agree to, or a kind of contract that this build has no text for. */
function textOf({ OpensContract, AllowsContract }: View): string {
  const key = OpensContract === undefined ? `allow.${AllowsContract}` : "agree";
  return key in TEXT_VERSIONS ? key : "";
}

export function agreementOf(strings: Strings, view: View): Agreement {
  const key = textOf(view);
  return { text: key && say(strings, key, { merchant: view.MerchantName }), optional: view.OpensContract === undefined };
}

/** Whether nothing is charged: the card is only verified, and stored. */
export const isFree = (view: View): boolean => view.OpensContract !== undefined && view.TotalAmount === 0;

/** `ticked` is the box's. A text without a country is told with the one where most of its readers live. */
export function consentOf(view: View, locale: string, ticked: boolean): { readonly Consent?: Consent } {
  const TextVersion = TEXT_VERSIONS[textOf(view)];
  if (TextVersion === undefined || (view.OpensContract === undefined && !ticked)) return {};
  const { language, region } = new Intl.Locale(locale).maximize();
  return { Consent: { TextVersion, Locale: `${language}_${region}` } };
}

/** The part of a new card's form that says what is agreed to, and asks where that is the shopper's choice. */
export class AgreementBox {
  /** Whether the shopper wants the card to be stored; never answered beforehand. */
  private readonly box = h("input", { type: "checkbox", id: "save", "aria-describedby": "agreement" });
  private readonly choice: HTMLElement;
  /** What the shopper agrees to by pressing the button, or by ticking the box. */
  private readonly agreement = h("p", { class: "agreement", id: "agreement" });
  private readonly element: HTMLElement;

  constructor(strings: Strings, private readonly form: FormParts) {
    this.box.addEventListener("click", (event) => this.box.hasAttribute("aria-disabled") && event.preventDefault());
    this.choice = h("div", { class: "choice" }, this.box, h("label", { for: "save" }, say(strings, "saveCard")));
    this.element = h("div", { class: "consent", hidden: true }, this.choice, this.agreement);
    form.notice.before(this.element);
  }

  get isTicked(): boolean {
    return this.box.checked;
  }

  /** A box that was ticked for another text is empty again. */
  show({ text, optional }: Agreement): void {
    const { agreement, form } = this;
    if (agreement.textContent !== text || !optional) this.clear();
    agreement.textContent = text;
    this.element.hidden = text === "";
    this.choice.hidden = !optional;
    if (text === "" || optional) form.button.removeAttribute("aria-describedby");
    else form.button.setAttribute("aria-describedby", "agreement");
  }

  setBusy(busy: boolean): void {
    // Unlike one that is disabled it keeps the focus.
    setState(this.box, "aria-disabled", busy);
  }

  clear(): void {
    this.box.checked = false;
  }
}
