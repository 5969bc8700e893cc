// What the shopper agrees to where the payment opens a contract, and how the service is told of it.

import type { Locale } from "../shared/locale";
import { say, type Strings } from "../shared/strings";
import type { Consent, View } from "./api";

/** Of the text "agree" in all languages: another one whenever it changes in any. It stands with the contract for ever. */
export const TEXT_VERSION = "2026-11";

/** The text that is shown; "" where nothing is agreed to. */
export function agreementOf(strings: Strings, view: View): string {
  return view.OpensContract === undefined ? "" : say(strings, "agree", { merchant: view.MerchantName });
}

/** Whether nothing is charged: the card is only verified, and stored. */
export const isFree = (view: View): boolean => view.OpensContract !== undefined && view.TotalAmount === 0;

/** A text without a country is told with the one where most of its readers live. */
export function consentOf(view: View, locale: Locale): { readonly Consent?: Consent } {
  if (view.OpensContract === undefined) return {};
  const { language, region } = new Intl.Locale(locale.format).maximize();
  return { Consent: { TextVersion: TEXT_VERSION, Locale: `${language}_${region}` } };
}
