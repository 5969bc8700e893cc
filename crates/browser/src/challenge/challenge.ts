// The page inside the drop-in's dialog: asks the service where the bank's page is, and nests it.

import { baseOf, isWebAddress } from "../shared/address";
import css from "./challenge.css";

const PAUSE_MS = 2000;

/**
 * A bank's page may run, send its forms, open its app or another window, and knows its own origin; it may not take the shop's
 * page away from under the shopper.
 */
const SANDBOX = "allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-same-origin allow-scripts";

/** How the payment stands; asks until the service answers. */
async function progress(address: URL): Promise<Record<string, unknown>> {
  for (;;) {
    try {
      const response = await fetch(address, { cache: "no-store", credentials: "omit" });
      if (response.ok || response.status === 404) return Object(await response.json()) as Record<string, unknown>;
    } catch {
      // No connection, or not our service: the same as an answer that says "later".
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function show(script: string): Promise<void> {
  const query = new URLSearchParams(location.search);
  const words = new URLSearchParams(location.hash.slice(1));
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [sheet];
  document.documentElement.lang = words.get("lang") ?? "en";
  document.title = words.get("title") ?? document.title;
  const work = document.createElement("progress");
  work.setAttribute("aria-label", document.title);
  document.body.append(work);
  const session = encodeURIComponent(query.get("session") ?? "");
  const { State, Challenge, RedirectUrl } = await progress(new URL(`shopper/session/${session}/progress?wait=0`, baseOf(script)));
  // When the payment does not wait for the bank any more, the drop-in hears of it too, and closes the dialog.
  if (State !== "REDIRECTED" || Challenge !== true || typeof RedirectUrl !== "string" || !isWebAddress(RedirectUrl)) return;
  const frame = document.createElement("iframe");
  frame.title = document.title;
  frame.setAttribute("sandbox", SANDBOX);
  frame.allow = "publickey-credentials-get *; payment *";
  frame.referrerPolicy = "no-referrer";
  // On a page that is isolated from other origins nothing else of another site may be framed.
  frame.toggleAttribute("credentialless", query.has("isolated"));
  frame.addEventListener("load", () => work.remove(), { once: true });
  frame.src = RedirectUrl;
  document.body.append(frame);
}

void show((document.currentScript as HTMLScriptElement).src);
