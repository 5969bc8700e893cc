// Masking with a caret that stays where the shopper put it. Pure: what the field held, what the browser made of it, what
// it shall hold. Property-tested with random edit sequences.

/** Zero of each decimal digit script we accept: ASCII, Arabic-Indic, Persian, Devanagari, full width. */
const ZEROS = [0x30, 0x660, 0x6f0, 0x966, 0xff10];

/** The decimal digits of `text` as ASCII; everything else is dropped. */
export function toDigits(text: string): string {
  let digits = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const zero = ZEROS.find((start) => code >= start && code <= start + 9);
    if (zero !== undefined) digits += String(code - zero);
  }
  return digits;
}

export type EditKind = "insert" | "backward" | "forward";

export interface Mask {
  /** The most digits a field may hold that starts like `digits`. */
  readonly max: (digits: string) => number;
  /** Digits with their separators; while inserting, a finished group may already show the separator that follows it. */
  readonly show: (digits: string, inserting: boolean) => string;
  /** A zero that belongs before `digits`, e.g. the month 4 becoming 04. */
  readonly lead?: (digits: string) => string;
  /** Where a separator typed by hand closes a short group: the index at which a zero is due, or -1. */
  readonly shortGroup?: (raw: string) => number;
}

export interface Edit {
  readonly digits: string;
  readonly value: string;
  readonly caret: number;
}

function commonLength(a: string, b: string): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

function caretAfter(value: string, digitsBefore: number): number {
  let seen = 0;
  let at = 0;
  while (seen < digitsBefore && at < value.length) if (/\d/.test(value[at++] ?? "")) seen++;
  return at;
}

const withLead = (mask: Mask, digits: string): string => (mask.lead?.(digits) ?? "") + digits;

/** The field after an edit: `held` digits before it, `raw` text and `rawCaret` as the browser left them. */
export function applyEdit(mask: Mask, held: string, raw: string, rawCaret: number, kind: EditKind): Edit {
  const due = kind === "insert" ? (mask.shortGroup?.(raw) ?? -1) : -1;
  const text = due < 0 ? raw : `${raw.slice(0, due)}0${raw.slice(due)}`;
  const caret = due >= 0 && rawCaret > due ? rawCaret + 1 : rawCaret;
  let before = toDigits(text.slice(0, caret));
  let after = toDigits(text.slice(caret));
  if (kind === "insert") {
    // Only what was inserted may be cut for want of room; what stood there stays.
    const kept = commonLength(held.slice(0, Math.max(0, held.length - after.length)), before);
    while (before.length > kept && withLead(mask, before + after).length > mask.max(withLead(mask, before + after))) before = before.slice(0, -1);
  } else if (before + after === held) {
    // Only a separator went: take the digit it stood for.
    if (kind === "backward") before = before.slice(0, -1);
    else after = after.slice(1);
  }
  const digits = withLead(mask, before + after);
  const zero = digits.length - before.length - after.length;
  // The zero stands before the caret where a digit does.
  if (before !== "") before = digits.slice(0, zero + before.length);
  const value = mask.show(digits, kind === "insert");
  const atEnd = after === "" && kind === "insert";
  return { digits, value, caret: atEnd ? value.length : caretAfter(value, before.length) };
}

/** Digits in groups that end where `gaps` says. */
export function grouped(digits: string, gaps: readonly number[]): string {
  let value = "";
  for (let i = 0; i < digits.length; i++) value += (gaps.includes(i) ? " " : "") + digits[i];
  return value;
}

/** No month starts with 20: a date that does is written with its year first, as in 2027-01. */
export const isYearFirst = (digits: string): boolean => digits.startsWith("20");

export const EXPIRY_MASK: Mask = {
  // Two digits of the year, or four when they start with 20.
  max: (digits) => (isYearFirst(digits) || digits.slice(2, 4) === "20" ? 6 : 4),
  show: (digits, inserting) => {
    const [first, between] = isYearFirst(digits) ? [4, "-"] : [2, " / "];
    if (digits.length < first || (digits.length === first && !inserting)) return digits;
    return digits.slice(0, first) + between + digits.slice(first);
  },
  // A 2 alone may be February or begin a year.
  lead: (digits) => (/^(?:[3-9]|2[1-9])/.test(digits) ? "0" : ""),
  shortGroup: (raw) => {
    const match = /^(\D*)\d\s*[/.-]/.exec(raw);
    return match === null ? -1 : (match[1] ?? "").length;
  },
};
