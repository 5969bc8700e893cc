// The frame's part: it alone talks to the service, on behalf of the page that embeds it.

import type { View } from "../payment/api";
import type { Checkout } from "../payment/checkout";
import type { Link } from "../frame/link";
import type { WalletAsk } from "../shared/protocol";

/** Longer than the service waits for the wallet's provider. */
const SESSION_TIMEOUT_MS = 20_000;

/** Does what the sheet wants. `origin` is the page's, as the browser says. */
export async function answer(ask: WalletAsk, view: View, origin: string, link: Link, checkout: Checkout): Promise<void> {
  if ("token" in ask) return checkout.pay(ask.token);
  link.send({ type: "wallet", session: await paymentSession(view, origin, ask.validationURL) });
}

/** The payment session for the page at `origin`; `{}` when there is none, for whatever reason. */
async function paymentSession(view: View, origin: string, validationURL: string): Promise<object> {
  try {
    const method = view.TokenMethods?.find((one) => one.Type === "APPLEPAY");
    const url = new URL(method?.Parameters.PaymentSessionUrl ?? "");
    url.search = new URLSearchParams({ validationURL, displayName: view.MerchantName, domainName: new URL(origin).host }).toString();
    const given = await fetch(url, { cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(SESSION_TIMEOUT_MS) });
    const session: unknown = await given.json();
    return given.ok ? (Object(session) as object) : {};
  } catch {
    return {};
  }
}
