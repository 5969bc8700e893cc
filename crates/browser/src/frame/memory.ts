// What the frame remembers across a reload: the attempt under way and a random name for this browser. Never card data.

const kept = new Map<string, string>();

/** Browsers may refuse storage to embedded pages; then memory has to do, and only a reload forgets. */
function read(area: () => Storage, key: string): string | null {
  try {
    return area().getItem(key) ?? kept.get(key) ?? null;
  } catch {
    return kept.get(key) ?? null;
  }
}

function write(area: () => Storage, key: string, value: string | null): void {
  if (value === null) kept.delete(key);
  else kept.set(key, value);
  try {
    if (value === null) area().removeItem(key);
    else area().setItem(key, value);
  } catch {
    // Kept in memory above.
  }
}

const session = (): Storage => window.sessionStorage;
const local = (): Storage => window.localStorage;

function uuid(): string {
  if ("randomUUID" in crypto) return crypto.randomUUID();
  const bytes = [...(crypto as Crypto).getRandomValues(new Uint8Array(16))];
  const hex = bytes.map((byte, i) => (i === 6 ? (byte & 15) | 64 : i === 8 ? (byte & 63) | 128 : byte).toString(16).padStart(2, "0"));
  return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const attemptKey = (sessionId: string): string => `dropin.attempt.${sessionId}`;

/**
 * The attempt to submit under. One whose answer never arrived is used again, so that a request still on its way and the
 * next press of the button can only ever be one payment.
 */
export function openAttempt(sessionId: string): string {
  const attempt = read(session, attemptKey(sessionId)) ?? uuid();
  write(session, attemptKey(sessionId), attempt);
  return attempt;
}

/** Forgets the attempt: it was answered for good, or surely never started. */
export function closeAttempt(sessionId: string): void {
  write(session, attemptKey(sessionId), null);
}

/** A random name for this browser, the same in the stash and in the submit. It says nothing about the device itself. */
export function deviceFingerprint(): string {
  const device = read(local, "dropin.device") ?? uuid();
  write(local, "dropin.device", device);
  return device;
}
