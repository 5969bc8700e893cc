// The texts of one language are in two files: what stands in the form before its button is pressed, and what is said from then on. The form
// waits for the first alone.

import type { Strings } from "../shared/strings";
import { LONG_PAUSE_MS, pause, type Api } from "./api";

/** A text of the second file. */
const PROOF = "doneTitle";

export class Texts {
  private loading: Promise<void> | undefined;

  /** `strings` are those of the first file; those of the second, at `address` and maybe what becomes of `later`, are added in place. */
  constructor(private readonly api: Api, readonly strings: Record<string, string>, private readonly address: string, later: Promise<Strings | null>) {
    this.loading = later.then((more) => this.add(more));
  }

  /** Whether all texts are there. */
  get isWhole(): boolean {
    return PROOF in this.strings;
  }

  /** Whether all texts are there: loads what is missing, each time it is asked for until it has come. */
  async complete(): Promise<boolean> {
    if (!this.isWhole) await (this.loading ??= this.load());
    return this.isWhole;
  }

  /** Waits until all texts are there, or `signal` says to stop. */
  async wait(signal: AbortSignal): Promise<void> {
    while (!(await this.complete()) && !signal.aborted) await pause(LONG_PAUSE_MS, signal);
  }

  private async load(): Promise<void> {
    const answer = await this.api.strings(this.address, PROOF);
    this.add(answer.kind === "ok" ? answer.body : null);
  }

  private add(more: Strings | null): void {
    Object.assign(this.strings, more);
    this.loading = undefined;
  }
}
