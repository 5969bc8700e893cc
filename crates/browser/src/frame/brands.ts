// Card schemes by the first digits of the number. Ranges are the ones the schemes publish; the server has the last word.

export interface Brand {
  /** The contract's method id where it has one (VISA, MC, AMEX, DISC, JCB, DINERS). */
  readonly id: string;
  readonly name: string;
  /** What fits on a small mark. */
  readonly mark: string;
  readonly lengths: readonly number[];
  /** How many digits stand before each gap. */
  readonly gaps: readonly number[];
  readonly codeLength: 3 | 4;
  /** First digits, each a prefix or a range of prefixes of one length: "36", "300-305". */
  readonly prefixes: readonly string[];
}

export const FOURS = [4, 8, 12, 16];

/** id, name, mark, lengths, prefixes. */
const TABLE = [
  "VISA|Visa|VISA|13 16 18 19|4",
  "MC|Mastercard|MC|16|51-55 2221-2720",
  "AMEX|American Express|AMEX|15|34 37",
  "DISC|Discover|DISC|16 17 18 19|6011 644-649 65",
  "JCB|JCB|JCB|16 17 18 19|3528-3589",
  "DINERS|Diners Club|DC|14 15 16 17 18 19|300-305 3095 36 38-39",
  "UNIONPAY|UnionPay|UP|14 15 16 17 18 19|62 81",
  "MAESTRO|Maestro|MAES|12 13 14 15 16 17 18 19|5018 5020 5038 56-58 6304 67",
  "ELO|Elo|ELO|16|401178-401179 438935 506699-506778 509000-509999 636368",
  "HIPERCARD|Hipercard|HIPER|16|606282",
  "MIR|Mir|MIR|16 17 18 19|2200-2204",
  "RUPAY|RuPay|RUPAY|16|508500-508999 6521-6522 60698-60699",
  "TROY|Troy|TROY|16|9792",
  "DANKORT|Dankort|DK|16|5019",
];

const BRANDS = TABLE.map((row): Brand => {
  const [id = "", name = "", mark = "", lengths = "", prefixes = ""] = row.split("|");
  const asPrinted = id === "AMEX" || id === "DINERS" ? [4, 10] : FOURS;
  const codeLength = id === "AMEX" ? 4 : 3;
  return { id, name, mark, lengths: lengths.split(" ").map(Number), gaps: asPrinted, codeLength, prefixes: prefixes.split(" ") };
});

/** The brand whose longest prefix fits what has been typed; null while (or when) none does. */
export function brandOf(digits: string): Brand | null {
  let best: Brand | null = null;
  let longest = 0;
  for (const brand of BRANDS) {
    for (const prefix of brand.prefixes) {
      const [low = "", high = low] = prefix.split("-");
      const head = digits.slice(0, low.length);
      if (low.length <= longest || head.length < low.length || head < low || head > high) continue;
      best = brand;
      longest = low.length;
    }
  }
  return best;
}

/** The small mark for a scheme of the Session, also for one this table does not know. */
export function markOf(id: string, name: string): string {
  return BRANDS.find((brand) => brand.id === id)?.mark ?? name;
}
