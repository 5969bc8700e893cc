// An unpaid Session ends at a known time: the shopper hears of it then, and not when the button is pressed.

import type { View } from "./api";

/** A Session that has expired is looked at this long after its end; and no sooner again than this when it has not, after all. */
const EXPIRY_MS = 1000;
/** Longer timers run out at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class ExpiryWatch {
  /** When, by this browser's clock, the Session expires. */
  private at = Infinity;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly expired: () => void) {}

  watch({ ExpiresAt, ServerTime, State }: View): void {
    this.stop();
    const left = State === "CREATED" && ExpiresAt && ServerTime ? Date.parse(ExpiresAt) - Date.parse(ServerTime) : NaN;
    this.at = Number.isNaN(left) ? Infinity : Date.now() + Math.max(left, 0) + EXPIRY_MS;
    if (this.at - Date.now() < MAX_TIMER_MS) this.timer = setTimeout(() => this.check(), this.at - Date.now() + 1);
  }

  /** Timers sleep with the page and with the computer. */
  check(): void {
    if (Date.now() > this.at) this.expired();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
