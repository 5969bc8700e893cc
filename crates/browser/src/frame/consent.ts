// What the shopper agrees to where the payment opens a contract, or may open one, and how the service is told of it.

import type { Locale } from "../shared/locale";
import { say, type Strings } from "../shared/strings";
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
export function consentOf(view: View, locale: Locale, ticked: boolean): { readonly Consent?: Consent } {
  const TextVersion = TEXT_VERSIONS[textOf(view)];
  if (TextVersion === undefined || (view.OpensContract === undefined && !ticked)) return {};
  const { language, region } = new Intl.Locale(locale.format).maximize();
  return { Consent: { TextVersion, Locale: `${language}_${region}` } };
}
