// The texts of one language, in two files: what stands in the form before its button is pressed, and what is said from then on. The
// form waits for the first alone.

import type { Strings } from "../shared/strings";
import type { Api, ApiResult } from "./api";

/** Where the first file says the address of the second. */
const SECOND = "outcomes";

export class Texts {
  /** All texts that have come so far; more are added in place. */
  readonly strings: Strings;
  /** Whether both files have come. */
  whole = false;
  private loading: Promise<boolean> | undefined;

  private constructor(private readonly api: Api, private readonly held: Record<string, string>) {
    this.strings = held;
  }

  /** Loads the first file of a language; `null` when it cannot be had. */
  static async load(api: Api, address: string): Promise<Texts | null> {
    const answer = await api.strings(address, "pay");
    return answer.kind === "ok" ? new Texts(api, answer.body) : null;
  }

  /** Whether all texts are there: loads what is missing, each time it is asked for until it has come. */
  complete(): Promise<boolean> {
    return (this.loading ??= this.api.strings(this.strings[SECOND] ?? "", "doneTitle").then((answer) => this.add(answer)));
  }

  private add(answer: ApiResult<Record<string, string>>): boolean {
    this.whole = answer.kind === "ok";
    if (answer.kind === "ok") Object.assign(this.held, answer.body);
    else this.loading = undefined;
    return this.whole;
  }
}
