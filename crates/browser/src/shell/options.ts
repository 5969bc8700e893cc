// What `dropin.init` takes, checked with messages that tell the merchant's developer what to change.

import type { Paid } from "../shared/protocol";

export interface Options {
  readonly target: string;
  readonly id: string;
  readonly onSuccess: (paid: Paid) => void;
  readonly onContinue: (() => void) | undefined;
  readonly onReady: (() => void) | undefined;
  readonly onChange: ((change: { readonly method: string | null; readonly complete: boolean }) => void) | undefined;
  readonly onMethodSelected: ((selected: { readonly method: string | null }) => void) | undefined;
  readonly onAttemptFailed: ((attempt: { readonly errorCode: string; readonly attemptsLeft: number }) => void) | undefined;
  readonly onRedirect: ((redirect: { readonly method: string }) => void) | undefined;
  readonly onFailure: ((error: { readonly errorCode: string; readonly errorMessage: string }) => void) | undefined;
  readonly hideSubmitButton: boolean | undefined;
  readonly onSubmitEnabledChange: ((state: boolean) => void) | undefined;
  readonly locale: string | undefined;
  /** 1 to 6; 0 for no headings at all. */
  readonly headingLevel: number | undefined;
}

/** What `typeof` must say; a capital marks what is required. */
const KINDS: Readonly<Record<keyof Options, string>> = {
  target: "String",
  id: "String",
  onSuccess: "Function",
  onContinue: "function",
  onReady: "function",
  onChange: "function",
  onMethodSelected: "function",
  onAttemptFailed: "function",
  onRedirect: "function",
  onFailure: "function",
  hideSubmitButton: "boolean",
  onSubmitEnabledChange: "function",
  locale: "string",
  headingLevel: "number",
};

/** Every complaint about the call goes to the developer of the page. */
export function complain(problem: string): never {
  throw new TypeError(`dropin.init: ${problem}`);
}

export function checkOptions(given: unknown): Options {
  const options = Object(given) as Options;
  for (const [name, kind] of Object.entries(KINDS)) {
    const value = options[name as keyof Options] ?? undefined;
    const required = /^[A-Z]/.test(kind);
    if (value === undefined && !required) continue;
    if (typeof value !== kind.toLowerCase() || value === "") complain(`${name} must be a ${kind.toLowerCase()}${required ? "" : ", or left out"}`);
  }
  const { headingLevel = 1 } = options;
  if (!Number.isInteger(headingLevel) || headingLevel < 0 || headingLevel > 6) complain("headingLevel must be 1 to 6, or 0 for none");
  return options;
}

/** One level below the heading that precedes `target`; 2 when none does. What follows on the page stays in order, whatever it is. */
export function levelBelow(target: Element): number {
  let level = 1;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6, [role=heading][aria-level]")) {
    if (!(heading.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
    level = Number(heading.getAttribute("aria-level") ?? heading.localName.slice(1)) || level;
  }
  return Math.min(level + 1, 6);
}

/** The one element that `selector` finds; the document must hold it already. */
export function findTarget(selector: string): Element {
  let target: Element | null = null;
  try {
    target = document.querySelector(selector);
  } catch {
    complain(`target "${selector}" is not a CSS selector`);
  }
  return target ?? complain(`no element matches target "${selector}"; call init once the page has it`);
}

/** Whether `target` shows nothing of the page's own. */
export function isEmpty(target: Element): boolean {
  return target.childElementCount === 0 && target.textContent?.trim() === "";
}
