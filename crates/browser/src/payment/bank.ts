// What a shopper puts into a bank transfer, in the order in which banks ask for it.

import type { Detail } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import type { BankDetails, View } from "./api";
import { plainAmountOf } from "../frame/money";

/** Member, key of its label. */
const TYPED: readonly (readonly [keyof BankDetails, string])[] = [
  ["AccountHolder", "bankHolder"],
  ["Iban", "bankIban"],
  ["AccountNumber", "bankAccount"],
  ["SwiftCode", "bankSwift"],
  ["ExtraBankData", "bankExtra"],
  ["PaymentReference", "bankReference"],
];

/** In fours, as it is printed everywhere. */
const asPrinted = (iban: string): string => iban.replace(/\s/g, "").replace(/(.{4})(?=.)/g, "$1 ");

/** A country by its name; one that has none by its code. */
function countryOf(code: string, locale: string): string {
  return /^[A-Z]{2}$/.test(code) ? (new Intl.DisplayNames(locale, { type: "region" }).of(code) ?? code) : code;
}

/** The amount, which reads `amount`, then every detail there is; what only says where the bank is comes last. */
export function detailsOf(strings: Strings, locale: string, amount: string, view: View, bank: BankDetails): Detail[] {
  const typed = TYPED.map(([member, key]) => {
    const copy = bank[member] ?? "";
    return { label: say(strings, key), text: member === "Iban" ? asPrinted(copy) : copy, copy };
  });
  const place = [bank.City, countryOf(bank.Country ?? "", locale)].filter(Boolean).join(", ");
  return [
    { label: say(strings, "bankAmount"), text: amount, copy: plainAmountOf(view, locale) },
    ...typed,
    { label: say(strings, "bankName"), text: bank.BankName ?? "", copy: "" },
    { label: say(strings, "bankPlace"), text: place, copy: "" },
  ].filter(({ text }) => text !== "");
}
