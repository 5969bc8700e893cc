"use client";
// The drop-in as a React component. Its settings make it anew when they change; its callbacks may change at any time.

import { createElement, forwardRef, useEffect, useImperativeHandle, useRef, type CSSProperties } from "react";
import type { DropinInstance } from "./index.js";
import { mount, type DropinEvents, type DropinSettings } from "./mount.js";

export interface DropinPaymentProps extends DropinSettings, DropinEvents {
  readonly className?: string | undefined;
  /** The style variables (`--color-primary`) may stand here too. */
  readonly style?: (CSSProperties & { readonly [name: `--${string}`]: string }) | undefined;
}

/** What a ref of the component has. */
export type DropinPaymentHandle = Pick<DropinInstance, "submitPayment" | "unselectPaymentMethod">;

export const DropinPayment = forwardRef<DropinPaymentHandle, DropinPaymentProps>(function DropinPayment(props, ref) {
  const { assetUrl, sessionId, locale, headingLevel, hideSubmitButton, version, integrity, nonce, className, style } = props;
  const host = useRef<HTMLDivElement>(null);
  const instance = useRef<DropinInstance>(undefined);
  const latest = useRef<DropinEvents>(props);
  useEffect(() => {
    latest.current = props;
  });
  useEffect(() => {
    if (host.current === null || !sessionId) return undefined;
    const settings = { assetUrl, sessionId, locale, headingLevel, hideSubmitButton, version, integrity, nonce };
    const mounted = mount(host.current, settings, (name, ...given) => (latest.current[name] as ((...given: readonly unknown[]) => void) | undefined)?.(...given));
    instance.current = mounted;
    return () => {
      instance.current = undefined;
      mounted.destroy();
    };
  }, [assetUrl, sessionId, locale, headingLevel, hideSubmitButton, version, integrity, nonce]);
  useImperativeHandle(ref, () => ({
    submitPayment: () => instance.current?.submitPayment(),
    unselectPaymentMethod: () => instance.current?.unselectPaymentMethod(),
  }), []);
  return createElement("div", { ref: host, className, style });
});
