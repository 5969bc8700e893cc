/** An amount of the Session as its locale writes it, with exactly the currency's decimals ("$29.90", "29,90 €"). */
export function formatAmount(amount: number, currency: string, minorUnits: number, locale: string): string {
  const digits = { minimumFractionDigits: minorUnits, maximumFractionDigits: minorUnits };
  return new Intl.NumberFormat(locale, { style: "currency", currency, ...digits }).format(amount);
}
