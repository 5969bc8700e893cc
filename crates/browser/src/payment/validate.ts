// What is wrong with a field, as the key of the text that says so. The server and the issuer have the last word.

import { brandOf } from "./brands";
import { isYearFirst } from "./mask";

export interface Problem {
  readonly key: string;
  readonly values?: Readonly<Record<string, string>>;
}

export const MAX_NUMBER_DIGITS = 19;
const MIN_NUMBER_DIGITS = 12;
/** No issuer prints a date further away than this. */
const YEARS_AHEAD = 25;
const MAX_NAME_LENGTH = 100;

export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return digits !== "" && sum % 10 === 0;
}

/** `accepted` are the scheme ids of the Session; a brand this table does not know is left to the server. */
export function numberProblem(digits: string, accepted: readonly string[]): Problem | null {
  if (digits === "") return { key: "numberMissing" };
  const brand = brandOf(digits);
  if (brand !== null && !accepted.includes(brand.id)) return { key: "numberNotAccepted", values: { brand: brand.name } };
  const shortest = brand?.lengths[0] ?? MIN_NUMBER_DIGITS;
  if (digits.length < shortest) return { key: "numberShort" };
  const fits = brand === null ? digits.length <= MAX_NUMBER_DIGITS : brand.lengths.includes(digits.length);
  return fits && passesLuhn(digits) ? null : { key: "numberInvalid" };
}

const isMonth = (month: number): boolean => month >= 1 && month <= 12;

/** "0430", "042030" and "203004" are April 2030; null when it is not a whole date. */
export function expiryOf(digits: string): { readonly month: number; readonly year: number } | null {
  const yearFirst = isYearFirst(digits);
  const [month, year] = [yearFirst ? digits.slice(4) : digits.slice(0, 2), yearFirst ? digits.slice(0, 4) : digits.slice(2)];
  const whole = month.length === 2 && (year.length === 2 || (year.length === 4 && isYearFirst(year)));
  return whole && isMonth(Number(month)) ? { month: Number(month), year: (Number(year) % 2000) + 2000 } : null;
}

/** A card is good until the end of its month. */
export function expiryProblem(digits: string, today: Date): Problem | null {
  if (digits === "") return { key: "expiryMissing" };
  const month = isYearFirst(digits) ? digits.slice(4) : digits.slice(0, 2);
  if (month.length === 2 && !isMonth(Number(month))) return { key: "expiryMonth" };
  const expiry = expiryOf(digits);
  if (expiry === null) return { key: "expiryShort" };
  const months = (expiry.year - today.getFullYear()) * 12 + expiry.month - (today.getMonth() + 1);
  if (months < 0) return { key: "expiryPast" };
  return months > YEARS_AHEAD * 12 ? { key: "expiryFar" } : null;
}

/** The code's length follows the brand; where that is not known, three or four digits may be right. */
export function codeProblem(code: string, length: number | undefined): Problem | null {
  if (code === "") return { key: "codeMissing" };
  const fits = length === undefined ? code.length === 3 || code.length === 4 : code.length === length;
  return fits ? null : { key: length === 4 ? "codeShort4" : "codeShort3" };
}

export function nameProblem(name: string): Problem | null {
  const trimmed = name.trim();
  if (trimmed === "") return { key: "nameMissing" };
  const looksLikeNumber = (trimmed.match(/\p{Nd}/gu) ?? []).length >= 8;
  if (looksLikeNumber || !/\p{L}/u.test(trimmed)) return { key: "nameNotName" };
  return trimmed.length > MAX_NAME_LENGTH ? { key: "nameLong" } : null;
}
