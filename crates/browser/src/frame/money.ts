import type { View } from "./api";

type Amount = Pick<View, "TotalAmount" | "Currency" | "MinorUnits">;

const decimals = ({ MinorUnits }: Amount): Intl.NumberFormatOptions => ({ minimumFractionDigits: MinorUnits, maximumFractionDigits: MinorUnits });

/** The total as its locale writes it, with exactly the currency's decimals ("$29.90", "29,90 €"). */
export function amountOf(view: Amount, locale: string): string {
  return new Intl.NumberFormat(locale, { style: "currency", currency: view.Currency, ...decimals(view) }).format(view.TotalAmount);
}

/** The total as it is typed into a bank's form: no currency, no grouping, digits 0 to 9 ("29.90", "29,90"). */
export function plainAmountOf(view: Amount, locale: string): string {
  return new Intl.NumberFormat(locale, { useGrouping: false, numberingSystem: "latn", ...decimals(view) }).format(view.TotalAmount);
}
