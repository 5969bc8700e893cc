// The shopper's calls. The frame is the only network client of the drop-in.

import type { Card } from "./card-form";

export type State = "CREATED" | "PROCESSING" | "REDIRECTED" | "COMPLETED" | "CANCELLED" | "FAILED";

const STATES: readonly string[] = ["CREATED", "PROCESSING", "REDIRECTED", "COMPLETED", "CANCELLED", "FAILED"];

/** What the shopper may see of the Session. */
export interface View {
  readonly State: State;
  readonly Version: number;
  readonly MerchantId: string;
  readonly MerchantName: string;
  readonly MerchantOrigins: readonly string[];
  readonly Currency: string;
  readonly MinorUnits: number;
  readonly TotalAmount: number;
  readonly PaymentMethods: readonly { readonly Id: string; readonly Name: string; readonly Class: string }[];
  readonly StashUrl: string;
  readonly Sandbox: boolean;
}

export interface Progress {
  readonly State: State;
  readonly ErrorCode?: string;
  readonly ErrorMessage?: string;
  readonly RedirectUrl?: string;
}

/** One press of the button: everything a repeat of the submit needs, and no card data. */
export interface Order {
  readonly Version: number;
  readonly AttemptId: string;
  readonly StashId: string;
  readonly DeviceFingerprint: string;
}

/** `refused` is the service's word; `unreachable` means nobody knows whether the request arrived: repeat or ask. */
export type Answer<T> =
  | { readonly kind: "ok"; readonly body: T }
  | { readonly kind: "refused"; readonly status: number; readonly code: string; readonly message: string; readonly fields: readonly string[] }
  | { readonly kind: "unreachable" };

type Members = Record<string, unknown>;

const members = (value: unknown): Members => (typeof value === "object" && value !== null ? (value as Members) : {});
const isState = (value: unknown): boolean => typeof value === "string" && STATES.includes(value);
const isProgress = (body: Members): boolean => isState(body["State"]);
const isStashed = (body: Members): boolean => Array.isArray(body["Warnings"]);

function isView(body: Members): boolean {
  const lists = [body["MerchantOrigins"], body["PaymentMethods"]];
  const numbers = [body["Version"], body["TotalAmount"], body["MinorUnits"]];
  return isState(body["State"]) && lists.every(Array.isArray) && numbers.every(Number.isFinite);
}

/** Resolves after `ms`, or at once when the flow it belongs to was given up. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/** Repeats `call` while nobody answers, pausing in between as `pauses` says. */
export async function persist<T>(
  call: () => Promise<Answer<T>>,
  pauses: readonly number[],
  signal: AbortSignal,
): Promise<Answer<T>> {
  let answer = await call();
  for (const ms of pauses) {
    if (answer.kind !== "unreachable" || signal.aborted) break;
    await pause(ms, signal);
    if (!signal.aborted) answer = await call();
  }
  return answer;
}

export class Api {
  private readonly session: string;

  constructor(private readonly base: URL, sessionId: string) {
    this.session = `shopper/session/${encodeURIComponent(sessionId)}`;
  }

  /** The texts of one locale file. */
  strings(tag: string, signal: AbortSignal): Promise<Answer<Record<string, string>>> {
    return this.call(`locales/${tag}.json`, { cache: "default" }, 8, signal, (body) => typeof body["pay"] === "string");
  }

  view(signal: AbortSignal): Promise<Answer<View>> {
    return this.call(this.session, {}, 8, signal, isView);
  }

  progress(waitSeconds: number, signal: AbortSignal): Promise<Answer<Progress>> {
    return this.call(`${this.session}/progress?wait=${waitSeconds}`, {}, waitSeconds + 10, signal, isProgress);
  }

  /** Survives the page: once sent, a closed tab does not take it back. */
  submit(order: Order, signal: AbortSignal): Promise<Answer<Progress>> {
    const headers = { "Content-Type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(order), keepalive: true };
    return this.call(`${this.session}/submit`, request, 30, signal, isProgress);
  }

  /** The one way card data leaves the frame. */
  stash(view: View, stashId: string, fingerprint: string, card: Card, signal: AbortSignal): Promise<Answer<{ Warnings: string[] }>> {
    const address = `${view.StashUrl}/${encodeURIComponent(view.MerchantId)}/${encodeURIComponent(stashId)}`;
    const body = new URLSearchParams({ DeviceFingerprint: fingerprint, card: JSON.stringify(card) });
    return this.call(address, { method: "POST", body }, 15, signal, isStashed);
  }

  private async call<T>(
    path: string,
    request: RequestInit,
    seconds: number,
    signal: AbortSignal,
    isExpected: (body: Members) => boolean,
  ): Promise<Answer<T>> {
    const limit = new AbortController();
    const stop = (): void => limit.abort();
    const timer = setTimeout(stop, seconds * 1000);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      const response = await fetch(new URL(path, this.base), { cache: "no-store", credentials: "omit", ...request, signal: limit.signal });
      if (response.status === 429 || response.status >= 500) return { kind: "unreachable" };
      const body = members(await response.json());
      if (!response.ok) return refusal(response.status, body);
      return isExpected(body) ? { kind: "ok", body: body as T } : { kind: "unreachable" };
    } catch {
      return { kind: "unreachable" };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }
}

function refusal<T>(status: number, body: Members): Answer<T> {
  const errors = Array.isArray(body["FieldErrors"]) ? body["FieldErrors"] : [];
  const fields = errors.map((error) => String(members(error)["Field"]));
  return { kind: "refused", status, code: String(body["Code"] ?? ""), message: String(body["Message"] ?? ""), fields };
}
