// The currency selector: which currencies the shop can sell in, and what its prices are in them.
//
// The payment service says so in getRates, which anybody may read. What is computed here is for showing: our server prices
// the basket again, by the same rates, when it creates the Session.

const RATE = /^(\d+)(?:\.(\d+))?$/;

/**
 * Reads the rates of this merchant. `Rate` is units of a currency for one of the currency that the merchant is settled in, here
 * the price list's. A merchant with guaranteed rates gets offers: then `Expiry` says how long its prices hold.
 */
export async function readCurrencies({ RatesUrl, Home, MinorUnits }) {
  const home = { Code: Home, MinorUnits: 2, Rate: "1" };
  try {
    const answer = await fetch(RatesUrl);
    if (!answer.ok) return [home];
    const { Rates, RateOffers } = await answer.json();
    const currencies = (RateOffers ?? Rates).map(({ Currency, Rate, Expiry }) => ({
      Code: Currency, MinorUnits: MinorUnits[Currency] ?? 2, Rate: String(Rate), Expiry,
    }));
    const foreign = currencies.filter(({ Code, Rate }) => Code !== Home && RATE.test(Rate));
    return [home, ...foreign.sort((a, b) => a.Code.localeCompare(b.Code))];
  } catch {
    // Without rates the shop still sells in its own currency.
    return [home];
  }
}

/** `cents` of the price list in the smallest unit of `currency`: whole numbers all the way, halves upwards. */
export function convert(cents, currency) {
  const [, whole, fraction = ""] = RATE.exec(currency.Rate);
  const above = BigInt(cents) * BigInt(whole + fraction) * 10n ** BigInt(currency.MinorUnits);
  const below = 10n ** BigInt(fraction.length + 2);
  const rounded = Number((above + below / 2n) / below);
  return cents === 0 ? 0 : Math.max(1, rounded);
}

/** What to say of how long a price holds. */
export function promise(currency, home) {
  if (currency.Code === home) return "";
  if (currency.Expiry === undefined) return `About ${Number(currency.Rate)} ${currency.Code} for 1 ${home}; an indication.`;
  const until = new Intl.DateTimeFormat("en-IE", { dateStyle: "medium", timeStyle: "short" }).format(new Date(currency.Expiry));
  return `${Number(currency.Rate)} ${currency.Code} for 1 ${home}, guaranteed until ${until}.`;
}
