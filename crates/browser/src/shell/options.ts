// What `dropin.init` takes, checked with messages that tell the merchant's developer what to change.

export interface Options {
  readonly target: string;
  readonly id: string;
  readonly onSuccess: () => void;
  readonly onFailure: ((error: { readonly errorCode: string; readonly errorMessage: string }) => void) | undefined;
  readonly hideSubmitButton: boolean | undefined;
  readonly onSubmitEnabledChange: ((state: boolean) => void) | undefined;
  readonly locale: string | undefined;
}

/** What `typeof` must say; a capital marks what is required. */
const KINDS: Readonly<Record<keyof Options, string>> = {
  target: "String",
  id: "String",
  onSuccess: "Function",
  onFailure: "function",
  hideSubmitButton: "boolean",
  onSubmitEnabledChange: "function",
  locale: "string",
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
  return options;
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
