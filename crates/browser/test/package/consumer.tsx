// Compiled against the packed package, never run.

import { useRef } from "react";
import { DropinLoadError, loadDropin, type DropinResult } from "dropin-payment";
import { DropinPayment, type DropinPaymentHandle } from "dropin-payment/react";
import { DropinPaymentElement } from "dropin-payment/element";
import { DropinPayment as VuePayment } from "dropin-payment/vue";

export async function plain(sessionId: string): Promise<void> {
  const dropin = await loadDropin("https://pay.example", { nonce: "x" });
  dropin.init({ target: "#payment", id: sessionId, onSuccess: ({ state }: DropinResult) => void state }).destroy();
  const { errorCode }: { errorCode: "SCRIPT_UNAVAILABLE" } = new DropinLoadError("");
  console.log(dropin.base, errorCode);
}

export function Checkout({ sessionId }: { sessionId?: string }): React.ReactNode {
  const handle = useRef<DropinPaymentHandle>(null);
  return (
    <DropinPayment
      ref={handle}
      assetUrl="https://pay.example"
      sessionId={sessionId}
      headingLevel={2}
      style={{ color: "red", "--color-primary": "#0a5" }}
      onSuccess={({ orderId }) => console.log(orderId)}
      onMethodSelected={({ method }) => console.log(method?.length)}
      onAttemptFailed={({ attemptsLeft }) => attemptsLeft > 1 && handle.current?.unselectPaymentMethod()}
      onRedirect={({ method }) => console.log(method)}
    />
  );
}

// @ts-expect-error: onSuccess is required
export const without = <DropinPayment assetUrl="https://pay.example" />;

const element: DropinPaymentElement = document.createElement("dropin-payment");
element.submitPayment();
export { VuePayment };
