// What the wrappers share: a drop-in inside of an element, from the moment that its script has come.

import { DropinLoadError, loadDropin, type DropinInstance, type DropinOptions, type LoadOptions } from "./index.js";

/** What a drop-in is made of; when one changes, another drop-in takes its place. */
export interface DropinSettings extends LoadOptions {
  /** `{asset_url}` of your payment service. */
  readonly assetUrl: string;
  /** The SessionId that your server received. Nothing is shown while there is none. */
  readonly sessionId?: string | undefined;
  readonly locale?: string | undefined;
  readonly headingLevel?: DropinOptions["headingLevel"] | undefined;
  readonly hideSubmitButton?: boolean | undefined;
}

export const EVENTS = [
  "onSuccess", "onContinue", "onReady", "onChange", "onMethodSelected", "onAttemptFailed", "onRedirect", "onFailure", "onSubmitEnabledChange",
] as const;

/** The callbacks of `dropin.init`. */
export type DropinEvents = Pick<DropinOptions, (typeof EVENTS)[number]>;

/** One event, and what it tells. */
export type Tell = (name: keyof DropinEvents, ...given: readonly unknown[]) => void;

/** For shoppers; the drop-in, which knows their language, is not there. */
const NOT_LOADED = "The payment form did not load. Check your connection and load this page again.";

let mounted = 0;

/** Shows a drop-in at the end of `host`. `destroy` takes it away, also while it loads. */
export function mount(host: Element, settings: DropinSettings, tell: Tell): DropinInstance {
  const { assetUrl, sessionId, locale, headingLevel, hideSubmitButton, ...pins } = settings;
  const target = document.createElement("div");
  target.dataset["dropin"] = String((mounted += 1));
  host.append(target);
  let instance: DropinInstance | undefined;
  let isGone = false;
  const begin = async (): Promise<void> => {
    const dropin = await loadDropin(assetUrl, pins);
    if (isGone || !sessionId) return;
    const callbacks = Object.fromEntries(EVENTS.map((name) => [name, (...given: readonly unknown[]) => tell(name, ...given)])) as unknown as DropinEvents;
    instance = dropin.init({
      target: `[data-dropin="${target.dataset["dropin"]}"]`,
      id: sessionId,
      ...callbacks,
      ...(locale !== undefined && { locale }),
      ...(headingLevel !== undefined && { headingLevel }),
      ...(hideSubmitButton !== undefined && { hideSubmitButton }),
    });
  };
  void begin().catch((error: unknown) => {
    if (isGone) return;
    console.error(error);
    const errorCode = error instanceof DropinLoadError ? error.errorCode : "WRONG_SETUP";
    tell("onFailure", { errorCode, errorMessage: NOT_LOADED });
  });
  return {
    submitPayment: () => instance?.submitPayment(),
    unselectPaymentMethod: () => instance?.unselectPaymentMethod(),
    destroy: () => {
      isGone = true;
      instance?.destroy();
      target.remove();
    },
  };
}
