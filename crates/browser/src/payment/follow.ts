// Follows a payment: asks until the service has answered, and on until nothing is left to ask.

import { LONG_PAUSE_MS, pause, PAUSES, type Api, type ApiResult, type Progress, type State, type Submission, type View } from "./api";

/** Seconds that the service holds a progress request open. */
const WAIT = 25;
/** Between two progress requests that the service answered at once. */
const MIN_POLL_MS = 1000;

/** What becomes of the answers. */
export interface Followed {
  /** False when there is another payment to follow instead. `sent` is what was refused; `null` for a question. */
  refused(answer: Extract<ApiResult<Progress>, { kind: "refused" }>, sent: Submission | null): boolean;
  /** True when there is nothing left to follow. */
  arrived(progress: Progress, order: Submission | null): boolean;
  showProcessing(): void;
  showStatus(what: "checking"): void;
}

/** Begins with submitting `order`, or with the call `first`, repeated until it is answered; without either it asks how the payment stands. */
export async function follow(api: Api, followed: Followed, signal: AbortSignal, order: Submission | null, first?: () => Promise<ApiResult<Progress>>): Promise<void> {
  let asking = order === null;
  let misses = 0;
  let from: State = "PROCESSING";
  while (!signal.aborted) {
    const asked = Date.now();
    const sending = !asking && order !== null ? order : null;
    const call = first ?? (sending ? () => api.submit(sending, signal) : () => api.progress(WAIT, from, signal));
    const answer: ApiResult<Progress> = await call();
    if (signal.aborted) return;
    if (answer.kind === "unreachable") {
      // Nobody knows whether it arrived. After a few repeats under the same id, say so and ask how it went.
      if (sending && misses === PAUSES.length) (asking = true), followed.showStatus("checking");
      await pause(PAUSES[misses] ?? LONG_PAUSE_MS, signal);
      misses = Math.min(misses + 1, PAUSES.length);
      continue;
    }
    misses = 0;
    const begun = first !== undefined;
    first = undefined;
    // Whatever the service had against it: the Session says how it stands.
    if (begun && answer.kind === "refused" && answer.status !== 404) continue;
    if (answer.kind === "refused") {
      if (followed.refused(answer, sending)) return;
      [order, asking] = [null, true];
      followed.showProcessing();
      continue;
    }
    if (followed.arrived(answer.body, order)) return;
    from = answer.body.State === "REDIRECTED" ? "REDIRECTED" : "PROCESSING";
    // CREATED after a submit that went unanswered: it never arrived, so send it again under the same id.
    asking = order === null || answer.body.State !== "CREATED";
    const early = Date.now() - asked < MIN_POLL_MS;
    if (early && !(sending && asking)) await pause(MIN_POLL_MS, signal);
  }
}

/** The Session as it is by now; "unreachable" only when `signal` says to stop. */
export async function readView(api: Api, signal: AbortSignal): Promise<ApiResult<View>> {
  for (;;) {
    const answer = await api.view(signal);
    if (answer.kind !== "unreachable" || signal.aborted) return answer;
    await pause(LONG_PAUSE_MS, signal);
  }
}
