import { rightToLeft } from "../../languages.json";
import type { View } from "../payment/api";

type Amount = Pick<View, "TotalAmount" | "Currency" | "MinorUnits">;

const decimals = ({ MinorUnits }: Amount): Intl.NumberFormatOptions => ({ minimumFractionDigits: MinorUnits, maximumFractionDigits: MinorUnits });

/** "US$" in a line from right to left would be read as "$US" without a mark that its end belongs to what is before it. */
const kept = (symbol: string, locale: string): string => (rightToLeft.includes(new Intl.Locale(locale).language) && /^[A-Z]+[^A-Z]$/.test(symbol) ? `${symbol}\u200e` : symbol);

/**
 * The total as its locale writes it, with exactly the currency's decimals ("$29.90", "29,90 €"). Without a locale as digits and a code
 * ("29.90 USD"), which needs no Intl.
 */
export function amountOf(view: Amount, locale = document.documentElement.lang): string {
  if (locale === "") return `${view.TotalAmount.toFixed(view.MinorUnits)} ${view.Currency}`;
  const parts = new Intl.NumberFormat(locale, { style: "currency", currency: view.Currency, ...decimals(view) }).formatToParts(view.TotalAmount);
  return parts.map(({ type, value }) => (type === "currency" ? kept(value, locale) : value)).join("");
}

/** The total as it is typed into a bank's form: no currency, no grouping, digits 0 to 9 ("29.90", "29,90"). */
export function plainAmountOf(view: Amount, locale: string): string {
  return new Intl.NumberFormat(locale, { useGrouping: false, numberingSystem: "latn", ...decimals(view) }).format(view.TotalAmount);
}
