// <dropin-payment>: the drop-in as an element. Settings are attributes, callbacks are events whose `detail` is what the callback is given.

import type { DropinInstance, DropinOptions } from "./index.js";
import { mount } from "./mount.js";

/** A server that renders pages has no elements: there the class is only a name. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * It has to stand in the document itself, not in the shadow of another element. Events: `ready`, `change`, `methodSelected`, `attemptFailed`, `redirect`,
 * `submitEnabledChange`, `success`, `continue`, `failure`; none of them bubbles.
 */
export class DropinPaymentElement extends Base {
  static readonly observedAttributes = ["asset-url", "session-id", "locale", "heading-level", "hide-submit-button", "version", "integrity"];
  #instance: DropinInstance | undefined;
  #isDue = false;

  connectedCallback(): void {
    this.#renew();
  }

  disconnectedCallback(): void {
    this.#renew();
  }

  attributeChangedCallback(_name: string, before: string | null, now: string | null): void {
    if (before !== now) this.#renew();
  }

  submitPayment(): void {
    this.#instance?.submitPayment();
  }

  unselectPaymentMethod(): void {
    this.#instance?.unselectPaymentMethod();
  }

  /** Once for all that changes in one task. */
  #renew(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#instance?.destroy();
      this.#instance = this.isConnected ? this.#mount() : undefined;
    });
  }

  #mount(): DropinInstance | undefined {
    const given = (name: string): string | undefined => this.getAttribute(name) ?? undefined;
    const [assetUrl, sessionId, level] = [given("asset-url"), given("session-id"), given("heading-level")];
    if (assetUrl === undefined || !sessionId) return undefined;
    const settings = {
      assetUrl,
      sessionId,
      locale: given("locale"),
      headingLevel: level === undefined ? undefined : (Number(level) as DropinOptions["headingLevel"]),
      hideSubmitButton: this.hasAttribute("hide-submit-button"),
      version: given("version"),
      integrity: given("integrity"),
      nonce: this.nonce || undefined,
    };
    return mount(this, settings, (name, detail?: unknown) => {
      const type = name.charAt(2).toLowerCase() + name.slice(3);
      this.dispatchEvent(new CustomEvent(type, { detail }));
    });
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "dropin-payment": DropinPaymentElement;
  }
}

if ("customElements" in globalThis && customElements.get("dropin-payment") === undefined) customElements.define("dropin-payment", DropinPaymentElement);
