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
}

const FOURS = [4, 8, 12, 16];
const AS_PRINTED_ON_15 = [4, 10];

function brand(id: string, name: string, mark: string, lengths: number[], gaps = FOURS, codeLength: 3 | 4 = 3): Brand {
  return { id, name, mark, lengths, gaps, codeLength };
}

function between(low: number, high: number): number[] {
  return Array.from({ length: high - low + 1 }, (_, i) => low + i);
}

const VISA = brand("VISA", "Visa", "VISA", [13, 16, 18, 19]);
const MC = brand("MC", "Mastercard", "MC", [16]);
const AMEX = brand("AMEX", "American Express", "AMEX", [15], AS_PRINTED_ON_15, 4);
const DISC = brand("DISC", "Discover", "DISC", between(16, 19));
const JCB = brand("JCB", "JCB", "JCB", between(16, 19));
const DINERS = brand("DINERS", "Diners Club", "DC", between(14, 19), AS_PRINTED_ON_15);
const UNIONPAY = brand("UNIONPAY", "UnionPay", "UP", between(14, 19));
const MAESTRO = brand("MAESTRO", "Maestro", "MAES", between(12, 19));
const ELO = brand("ELO", "Elo", "ELO", [16]);
const HIPERCARD = brand("HIPERCARD", "Hipercard", "HIPER", [16]);
const MIR = brand("MIR", "Mir", "MIR", between(16, 19));
const RUPAY = brand("RUPAY", "RuPay", "RUPAY", [16]);
const TROY = brand("TROY", "Troy", "TROY", [16]);
const DANKORT = brand("DANKORT", "Dankort", "DK", [16]);

/** [brand, lowest prefix, highest prefix]; both prefixes have the same number of digits. */
const RANGES: readonly (readonly [Brand, string, string])[] = [
  [VISA, "4", "4"],
  [MC, "51", "55"],
  [MC, "2221", "2720"],
  [AMEX, "34", "34"],
  [AMEX, "37", "37"],
  [DISC, "6011", "6011"],
  [DISC, "644", "649"],
  [DISC, "65", "65"],
  [JCB, "3528", "3589"],
  [DINERS, "300", "305"],
  [DINERS, "3095", "3095"],
  [DINERS, "36", "36"],
  [DINERS, "38", "39"],
  [UNIONPAY, "62", "62"],
  [UNIONPAY, "81", "81"],
  [MAESTRO, "5018", "5018"],
  [MAESTRO, "5020", "5020"],
  [MAESTRO, "5038", "5038"],
  [MAESTRO, "56", "58"],
  [MAESTRO, "6304", "6304"],
  [MAESTRO, "67", "67"],
  [ELO, "401178", "401179"],
  [ELO, "438935", "438935"],
  [ELO, "506699", "506778"],
  [ELO, "509000", "509999"],
  [ELO, "636368", "636368"],
  [HIPERCARD, "606282", "606282"],
  [MIR, "2200", "2204"],
  [RUPAY, "508500", "508999"],
  [RUPAY, "6521", "6522"],
  [RUPAY, "60698", "60699"],
  [TROY, "9792", "9792"],
  [DANKORT, "5019", "5019"],
];

/** The brand whose longest prefix fits what has been typed; null while (or when) none does. */
export function brandOf(digits: string): Brand | null {
  let best: Brand | null = null;
  let longest = 0;
  for (const [candidate, low, high] of RANGES) {
    const head = digits.slice(0, low.length);
    if (low.length <= longest || head.length < low.length || head < low || head > high) continue;
    best = candidate;
    longest = low.length;
  }
  return best;
}

/** The small mark for a scheme of the Session, also for one this table does not know. */
export function markOf(id: string, name: string): string {
  return RANGES.find(([candidate]) => candidate.id === id)?.[0].mark ?? name;
}
