// The shopper's calls. The frame is the only network client of the drop-in.

export type State = "CREATED" | "PROCESSING" | "REDIRECTED" | "COMPLETED" | "CANCELLED" | "FAILED";

/** A wallet that hands over a token, with what its payment sheet is made of. */
export type TokenMethod = ApplePay | GooglePay;

export interface ApplePay {
  readonly Type: "APPLEPAY";
  readonly Parameters: {
    readonly SupportedNetworks: readonly string[];
    readonly MerchantCapabilities: readonly string[];
    readonly PaymentSessionUrl: string;
    readonly CountryCode: string;
  };
}

export interface GooglePay {
  readonly Type: "GOOGLEPAY";
  readonly Parameters: {
    readonly Environment: string;
    readonly Gateway: string;
    readonly GatewayMerchantId: string;
    readonly MerchantId?: string;
    readonly SupportedNetworks: readonly string[];
    readonly AuthMethods: readonly string[];
    readonly CountryCode: string;
  };
}

/** What the shopper may see of the Session. */
export interface View {
  readonly SessionId: string;
  readonly State: State;
  readonly Version: number;
  readonly MerchantId: string;
  readonly MerchantName: string;
  readonly MerchantOrigins: readonly string[];
  readonly Currency: string;
  readonly MinorUnits: number;
  readonly TotalAmount: number;
  /** The kind of the contract that the payment opens. */
  readonly OpensContract?: string;
  /** The kind of the contract that the payment opens if the shopper wants the card to be stored. */
  readonly AllowsContract?: string;
  /** Newest first; a service of before there were any tells none. */
  readonly SavedCards?: readonly SavedCard[];
  /** What the shopper is asked of the billing address who pays by a new card; left out where there is nothing. */
  readonly AddressFields?: readonly AddressField[];
  readonly PaymentMethods: readonly { readonly Id: string; readonly Name: string; readonly Class: string }[];
  /** Wallets that hand over a token. */
  readonly TokenMethods?: readonly TokenMethod[];
  readonly StashUrl: string;
  readonly Sandbox: boolean;
  /** ISO times: when the Session ends unpaid, and what the service's clock showed when it answered. */
  readonly ExpiresAt?: string;
  readonly ServerTime?: string;
  /** The latest attempt, when it failed and another one may follow. */
  readonly Attempt?: FailedAttempt;
}

/** A member of the billing address: its name, a regular expression of the whole value, and a value to show. */
export interface AddressField {
  readonly Name: string;
  readonly Pattern: string;
  readonly Example: string;
}

/** Of one attempt, for the card's issuer to compare. */
export interface BillingAddress {
  readonly Postcode: string;
}

/** A card of the shopper that a contract holds. */
export interface SavedCard {
  readonly ContractId: string;
  readonly PaymentMethod: string;
  readonly Last4: string;
  /** As 2031-12. */
  readonly Expiry: string;
  readonly Removable: boolean;
}

/** An attempt that another one may follow. */
export interface FailedAttempt {
  readonly AttemptId: string;
  /** Says to shoppers what they can mend: PAYMENT_DECLINED, AUTHENTICATION_FAILED, PAGE_CANCELLED, PAGE_EXPIRED, TRY_LATER. */
  readonly ErrorCode: string;
  readonly AttemptsLeft: number;
}

export interface Progress {
  readonly State: State;
  /** FAILED and CANCELLED: why; always there then. */
  readonly ErrorCode?: string;
  /** The outcome is not known yet, and is asked for. */
  readonly Checking?: boolean;
  /** CREATED: why the latest attempt failed. */
  readonly Attempt?: FailedAttempt;
  /** COMPLETED: the Order, its state, and what paid it. */
  readonly OrderId?: string;
  readonly OrderState?: string;
  readonly PaymentMethod?: string;
  /** REDIRECTED: the attempt that waits, and where the shopper has to go. */
  readonly AttemptId?: string;
  readonly RedirectUrl?: string;
  /** That is a bank's check of a card payment, which may be framed. */
  readonly Challenge?: boolean;
  /** What to put into the transfer, once a payment by bank transfer is COMPLETED. */
  readonly BankDetails?: BankDetails;
}

export type BankDetails = Readonly<Partial<Record<
  "AccountHolder" | "AccountNumber" | "BankName" | "City" | "Country" | "Iban" | "PaymentReference" | "SwiftCode" | "ExtraBankData", string
>>>;

/** One press of the button: everything a repeat of the submit needs, and no card data. */
export interface Submission {
  readonly Version: number;
  readonly AttemptId: string;
  readonly DeviceFingerprint: string;
  /** Of a card, or of a saved card's security code. */
  readonly StashId?: string;
  /** Of a saved card. */
  readonly ContractId?: string;
  /** Id of any other method; beside StashId the scheme that was chosen of a co-badged card. */
  readonly PaymentMethod?: string;
  /** Of a new card, where the view asks for it. */
  readonly BillingAddress?: BillingAddress;
  /** Where the payment opens a contract: the text that the shopper read. */
  readonly Consent?: Consent;
}

export interface Consent {
  readonly TextVersion: string;
  /** As de_AT. */
  readonly Locale: string;
}

/** What only the stash may see, as JSON: a card, or what a wallet handed over. */
export type Secret = { readonly card: string } | { readonly token_data: string };

/** `refused` is the service's word, `fields` the members that it refused; `unreachable` means nobody knows whether the request arrived: repeat or ask. */
export type ApiResult<T> =
  | { readonly kind: "ok"; readonly body: T }
  | { readonly kind: "refused"; readonly status: number; readonly code: string; readonly message: string; readonly fields: readonly string[] }
  | { readonly kind: "unreachable" };

type Members = Record<string, unknown>;

const members = (value: unknown): Members => Object(value) as Members;

const fieldsOf = ({ FieldErrors }: Members): string[] => (Array.isArray(FieldErrors) ? FieldErrors.map((one) => String(members(one)["Field"])) : []);

/** Resolves after `ms`, or at once when the flow it belongs to was given up. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/** Pauses between repeats of one request, in milliseconds. */
export const PAUSES = [500, 1000, 2000];
/** Between requests of which several in a row went unanswered. */
export const LONG_PAUSE_MS = 4000;

export class Api {
  private readonly session: string;

  constructor(private readonly base: URL, sessionId: string) {
    this.session = `shopper/session/${encodeURIComponent(sessionId)}`;
  }

  /** One file of texts, by its address of this build; it is known by its text `proof`. */
  strings(address: string, proof: string): Promise<ApiResult<Record<string, string>>> {
    return this.persist(address, { cache: "default" }, 5, new AbortController().signal, proof);
  }

  view(signal: AbortSignal): Promise<ApiResult<View>> {
    return this.persist(this.session, {}, 7, signal, "State");
  }

  /** Waits for as long as the Session is in the state `from`. */
  progress(waitSeconds: number, from: State, signal: AbortSignal): Promise<ApiResult<Progress>> {
    return this.call(`${this.session}/progress?wait=${waitSeconds}&from=${from}`, {}, waitSeconds + 10, signal, "State");
  }

  /** Survives the page: once sent, a closed tab does not take it back. */
  submit(order: Submission, signal: AbortSignal): Promise<ApiResult<Progress>> {
    const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(order), keepalive: true };
    return this.call(`${this.session}/submit`, request, 30, signal, "State");
  }

  /** Gives up the page that the payment waits on; answers how the Session stands then. A second call changes nothing. */
  payAnotherWay(attempt: string, signal: AbortSignal): Promise<ApiResult<Progress>> {
    const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ AttemptId: attempt }), keepalive: true };
    return this.call(`${this.session}/pay-another-way`, request, 30, signal, "State");
  }

  /** Closes the contract of a saved card. */
  removeCard(contract: string, signal: AbortSignal): Promise<ApiResult<object>> {
    return this.persist(`${this.session.replace("shopper/", "")}/contract/${encodeURIComponent(contract)}`, { method: "DELETE" }, 15, signal, "");
  }

  /** The one way card data leaves the frame. */
  stash(view: View, order: Submission, secret: Secret, signal: AbortSignal): Promise<ApiResult<{ Warnings: string[] }>> {
    const address = `${view.StashUrl}/${view.MerchantId}/${order.AttemptId}`;
    const [TimeZone, Language] = [Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.language];
    const body = new URLSearchParams({ DeviceFingerprint: order.DeviceFingerprint, SessionId: view.SessionId, TimeZone, Language, ...secret });
    return this.persist(address, { method: "POST", body }, 15, signal, "Warnings");
  }

  /** Repeats a call that changes nothing by being repeated, while nobody answers. */
  private async persist<T>(path: string, request: RequestInit, seconds: number, flow: AbortSignal, proof: string): Promise<ApiResult<T>> {
    for (const ms of PAUSES) {
      const answer = await this.call<T>(path, request, seconds, flow, proof);
      if (answer.kind !== "unreachable" || flow.aborted) return answer;
      await pause(ms, flow);
    }
    return this.call(path, request, seconds, flow, proof);
  }

  /** `proof` is a member that the expected answer surely has, "" where it has no body; anything else that answers is not our service. */
  private async call<T>(path: string, request: RequestInit, seconds: number, flow: AbortSignal, proof: string): Promise<ApiResult<T>> {
    const limit = new AbortController();
    const stop = (): void => limit.abort();
    const timer = setTimeout(stop, seconds * 1000);
    flow.addEventListener("abort", stop);
    try {
      const response = await fetch(new URL(path, this.base), { cache: "no-store", credentials: "omit", ...request, signal: limit.signal });
      if (proof === "" && response.status === 204) return { kind: "ok", body: {} as T };
      const body = members(await response.json());
      if (response.ok && proof !== "" && proof in body) return { kind: "ok", body: body as T };
      if (response.ok || response.status === 429 || response.status >= 500) return { kind: "unreachable" };
      return { kind: "refused", status: response.status, code: String(body["Code"]), message: String(body["Message"] ?? ""), fields: fieldsOf(body) };
    } catch {
      return { kind: "unreachable" };
    } finally {
      clearTimeout(timer);
      flow.removeEventListener("abort", stop);
    }
  }
}
