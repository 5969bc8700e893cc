// What `dropin.init` takes, checked with messages that tell the merchant's developer what to change.

export interface Options {
  readonly target: string;
  readonly id: string;
  readonly onSuccess: () => void;
  readonly onFailure: ((error: { readonly errorCode: string; readonly errorMessage: string }) => void) | undefined;
  readonly hideSubmitButton: boolean;
  readonly onSubmitEnabledChange: ((state: boolean) => void) | undefined;
  readonly locale: string | undefined;
}

const KINDS: Readonly<Record<keyof Options, readonly [kind: string, required: boolean]>> = {
  target: ["string", true],
  id: ["string", true],
  onSuccess: ["function", true],
  onFailure: ["function", false],
  hideSubmitButton: ["boolean", false],
  onSubmitEnabledChange: ["function", false],
  locale: ["string", false],
};

export function checkOptions(given: unknown): Options {
  if (typeof given !== "object" || given === null) throw new TypeError("dropin.init takes one object: { target, id, onSuccess, … }");
  const options = given as Record<string, unknown>;
  for (const [name, [kind, required]] of Object.entries(KINDS)) {
    const value = options[name] ?? undefined;
    if (value === undefined ? required : typeof value !== kind || value === "") {
      throw new TypeError(`dropin.init: ${name} must be a ${kind}${required ? " and is required" : ", or left out"}`);
    }
  }
  return { ...(options as unknown as Options), hideSubmitButton: options["hideSubmitButton"] === true };
}

/** The one element that `selector` finds; the document must hold it already. */
export function findTarget(selector: string): Element {
  let target: Element | null;
  try {
    target = document.querySelector(selector);
  } catch {
    throw new TypeError(`dropin.init: target "${selector}" is not a CSS selector`);
  }
  if (target === null) throw new TypeError(`dropin.init: no element matches target "${selector}"; call init once the page has it`);
  return target;
}

/** Whether `target` shows nothing of the page's own. */
export function isEmpty(target: Element): boolean {
  return [...target.childNodes].every((node) => node.nodeType === Node.COMMENT_NODE || (node.nodeType === Node.TEXT_NODE && node.textContent?.trim() === ""));
}
