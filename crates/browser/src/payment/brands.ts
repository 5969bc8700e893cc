// Card schemes by the first digits of the number. Ranges are the ones the schemes publish; the server has the last word.

import { longestPrefix } from "../shared/prefixes";

export interface Brand {
  /** The id of the catalogue (docs/payment-methods.md) where it has one (VISA, MC, AMEX, DISC, JCB, DINERS). */
  readonly id: string;
  readonly name: string;
  readonly lengths: readonly number[];
  /** How many digits stand before each gap. */
  readonly gaps: readonly number[];
  readonly codeLength: 3 | 4;
  /** First digits, each a prefix or a range of prefixes of one length: "36", "300-305". */
  readonly prefixes: readonly string[];
}

export const FOURS = [4, 8, 12, 16];

/** id, name, lengths, prefixes. */
const TABLE = [
  "VISA|Visa|13 16 18 19|4",
  "MC|Mastercard|16|51-55 2221-2720",
  "AMEX|American Express|15|34 37",
  "DISC|Discover|16 17 18 19|6011 644-649 65",
  "JCB|JCB|16 17 18 19|3528-3589",
  "DINERS|Diners Club|14 15 16 17 18 19|300-305 3095 36 38-39",
  "UNIONPAY|UnionPay|14 15 16 17 18 19|62 81",
  "MAESTRO|Maestro|12 13 14 15 16 17 18 19|5018 5020 5038 56-58 6304 67",
  "ELO|Elo|16|401178-401179 438935 506699-506778 509000-509999 636368",
  "HIPERCARD|Hipercard|16|606282",
  "MIR|Mir|16 17 18 19|2200-2204",
  "RUPAY|RuPay|16|508500-508999 6521-6522 60698-60699",
  "TROY|Troy|16|9792",
  "DANKORT|Dankort|16|5019",
];

const BRANDS = TABLE.map((row): Brand => {
  const [id = "", name = "", lengths = "", prefixes = ""] = row.split("|");
  const asPrinted = id === "AMEX" || id === "DINERS" ? [4, 10] : FOURS;
  const codeLength = id === "AMEX" ? 4 : 3;
  return { id, name, lengths: lengths.split(" ").map(Number), gaps: asPrinted, codeLength, prefixes: prefixes.split(" ") };
});

/** The brand by its id; null where this table does not know it. */
export const brandNamed = (id: string): Brand | null => BRANDS.find((brand) => brand.id === id) ?? null;

/** The brand whose longest prefix fits what has been typed; null while (or when) none does. */
export function brandOf(digits: string): Brand | null {
  let best: Brand | null = null;
  let longest = 0;
  for (const brand of BRANDS) {
    const length = longestPrefix(digits, brand.prefixes);
    if (length > longest) [best, longest] = [brand, length];
  }
  return best;
}
