// Why the frame does not speak, found out in the page by what the service says of it and of the Session.

import { causeOf } from "./cause";

/** A code for `onFailure`, and for the page's developer the cause with what mends it. */
export interface Diagnosis {
  readonly code: string;
  readonly cause: string;
  /** The service is in trouble: trying again may help. */
  readonly passes?: true;
}

const DIAGNOSIS_TIMEOUT_MS = 800;

/** Why a frame that has loaded stays silent: asks the service whether pages of this origin may embed it for the Session. */
export async function diagnose(base: URL, session: string): Promise<Diagnosis> {
  const { origin } = location;
  const register = `register the origin: dropin merchant set MERCHANT_ID --origin ${origin} (repeat --origin for every origin of the shop: the list is replaced)`;
  try {
    const address = new URL(`session/${encodeURIComponent(session)}/embeddable`, base);
    const response = await fetch(address, { cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(DIAGNOSIS_TIMEOUT_MS) });
    if (response.status === 429 || response.status >= 500) return { code: "SERVICE_UNAVAILABLE", cause: causeOf("SERVICE_UNAVAILABLE", ""), passes: true };
    const { Code } = Object(await response.json()) as { readonly Code?: string };
    if (response.ok) {
      const cause = `The card form's script ${new URL("frame.js", base).href} did not run. Look for a browser extension or a proxy that blocks or changes it.`;
      return { code: "SCRIPT_BLOCKED", cause };
    }
    const mend = `Unless the Session is another merchant's, or another deployment's, ${register}`;
    if (Code === "ORIGIN_NOT_ALLOWED" || Code === "SESSION_NOT_FOUND") return { code: Code, cause: `${origin} may not embed the drop-in for Session ${session}. ${mend}` };
  } catch {
    // The page's policy forbids to ask, or nobody answers: the cause stays open.
  }
  const cause =
    `The card form at ${base.href} did not answer. Either the service is away (its /readyz says why), or the browser refused the frame: `
    + `${register}, and let the page's Content-Security-Policy admit frame-src ${base.origin}`;
  return { code: "FRAME_UNAVAILABLE", cause };
}
