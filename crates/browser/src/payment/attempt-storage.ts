// What the frame remembers across a reload: the attempt under way and a random name for this browser. Never card data.

const fallback = new Map<string, string>();

/** Browsers may refuse storage to embedded pages; then memory has to do, and only a reload forgets. */
function allowed<T>(use: () => T): T | null {
  try {
    return use();
  } catch {
    return null;
  }
}

function getOrCreate(area: "sessionStorage" | "localStorage", key: string): string {
  const value = allowed(() => window[area].getItem(key)) ?? fallback.get(key) ?? crypto.randomUUID();
  fallback.set(key, value);
  allowed(() => window[area].setItem(key, value));
  return value;
}

const attemptKey = (sessionId: string): string => `dropin.attempt.${sessionId}`;

/**
 * The attempt to submit under. One whose answer never arrived is used again, so that a request still on its way and the
 * next press of the button can only ever be one payment.
 */
export function openAttempt(sessionId: string): string {
  return getOrCreate("sessionStorage", attemptKey(sessionId));
}

/** Forgets the attempt, or only the one with this id: it was answered for good, or surely never started. */
export function closeAttempt(sessionId: string, id?: string): void {
  if (id !== undefined && id !== openAttempt(sessionId)) return;
  fallback.delete(attemptKey(sessionId));
  allowed(() => window.sessionStorage.removeItem(attemptKey(sessionId)));
}

/** A random name for this browser, the same in the stash and in the submit. It says nothing about the device itself. */
export function deviceFingerprint(): string {
  return getOrCreate("localStorage", "dropin.device");
}
