// The payment sheet of Google Pay. Its script is Google's, and has no other address: it is loaded where the merchant offers the wallet and money moves.
// In a sandbox nothing is loaded, and the page itself brings what stands for it.

import type { GooglePay, View } from "../payment/api";
import { plainAmountOf } from "../frame/money";
import type { WalletAsk } from "../shared/protocol";
import type { Sheet } from "./buttons";

/** As docs/INTEGRATION.md names it for the page's policy. */
const SCRIPT = "https://pay.google.com/gp/p/js/pay.js";
const VERSION = { apiVersion: 2, apiVersionMinor: 0 };

/** As much of the interface as the button uses. */
interface PaymentsClient {
  isReadyToPay(request: object): Promise<{ readonly result?: boolean }>;
  loadPaymentData(request: object): Promise<{ readonly paymentMethodData: object }>;
}

type PaymentsClients = new (options: object) => PaymentsClient;

const clients = (): PaymentsClients | undefined => (window as { readonly google?: { readonly payments?: { readonly api?: { readonly PaymentsClient?: PaymentsClients } } } }).google?.payments?.api?.PaymentsClient;

let loading: Promise<unknown> | undefined;

/** The interface, from Google where the page has none. A page whose policy keeps the script away has no such button. */
async function interfaceOf({ Sandbox }: View): Promise<PaymentsClients | undefined> {
  if (clients() === undefined && !Sandbox) {
    await (loading ??= new Promise((done) => {
      const script = document.createElement("script");
      // By which the page's policy may know scripts, the drop-in's among them.
      const nonce = [...document.scripts].find((one) => one.nonce)?.nonce ?? "";
      try {
        Object.assign(script, { async: true, nonce, onload: done, onerror: done, src: SCRIPT });
        document.head.append(script);
      } catch {
        // The page requires Trusted Types, and lets no script be named by a text: it loads the script itself.
        done(null);
      }
    }));
  }
  return clients();
}

export class GoogleSheet implements Sheet<GooglePay> {
  readonly name = "Google Pay";
  readonly type = "GOOGLEPAY";
  private client: PaymentsClient | null = null;
  private request: object | null = null;
  private isOpen = false;
  private isGone = false;

  constructor(private readonly ask: (ask: WalletAsk) => void) {}

  async canPay(method: GooglePay, view: View): Promise<boolean> {
    this.request = requestOf(method, view);
    try {
      const Client = await interfaceOf(view);
      if (Client === undefined) return false;
      this.client ??= new Client({ environment: method.Parameters.Environment });
      return (await this.client.isReadyToPay({ ...VERSION, allowedPaymentMethods: [cardsOf(method)] })).result === true;
    } catch {
      // A page without TLS, or a browser that the wallet does not know.
      return false;
    }
  }

  begin(): void {
    if (this.client === null || this.request === null || this.isOpen) return;
    this.isOpen = true;
    const { client, request } = this;
    const shown = JSON.stringify(request);
    const opened = (async () => client.loadPaymentData(request))();
    // A sheet that the shopper closes, that cannot be opened, or that showed another amount than the Session has by now, leaves everything as it was.
    void opened.then(({ paymentMethodData }) => shown === JSON.stringify(this.request) && this.pay(paymentMethodData)).catch(() => undefined).finally(() => (this.isOpen = false));
  }

  /** The sheet is closed before the payment begins: how that stands, the drop-in shows. */
  heard(): void {
    return undefined;
  }

  abort(): void {
    this.isGone = true;
  }

  private pay(data: object): void {
    // Nothing but data goes on: what the wallet hands over may have behaviour of its own.
    if (!this.isGone) this.ask({ token: { Type: this.type, Data: JSON.parse(JSON.stringify(data)) as object } });
  }
}

/** What the sheet may offer. */
function cardsOf({ Parameters }: GooglePay): object {
  const { AuthMethods: allowedAuthMethods, SupportedNetworks: allowedCardNetworks } = Parameters;
  return { type: "CARD", parameters: { allowedAuthMethods, allowedCardNetworks } };
}

function requestOf(method: GooglePay, view: View): object {
  const { CountryCode: countryCode, Gateway: gateway, GatewayMerchantId: gatewayMerchantId, MerchantId: merchantId } = method.Parameters;
  const tokenizationSpecification = { type: "PAYMENT_GATEWAY", parameters: { gateway, gatewayMerchantId } };
  return {
    ...VERSION,
    allowedPaymentMethods: [{ ...cardsOf(method), tokenizationSpecification }],
    merchantInfo: { merchantName: view.MerchantName, ...(merchantId !== undefined && { merchantId }) },
    transactionInfo: { totalPriceStatus: "FINAL", totalPrice: plainAmountOf(view, "en"), currencyCode: view.Currency, countryCode },
  };
}
