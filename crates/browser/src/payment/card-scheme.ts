// Which scheme a new card is paid by. Most numbers tell one; of a card that bears the marks of two the shopper chooses, by a part that is loaded where
// the Session takes such cards.

import { load } from "../shared/lazy-module";
import type { Frame } from "../frame/frame";
import { brandNamed, type Brand } from "./brands";
import { drawingOf } from "./marks";
import type * as Schemes from "../schemes/schemes";

export class CardScheme {
  private part: typeof Schemes | null = null;
  private choice: Schemes.SchemeChoice | null = null;
  private loading = false;
  private tries = 0;
  private digits = "";
  private brand: Brand | null = null;
  private busy = false;

  /** `accepted` are the scheme ids of the Session; `changed` hears when there is something to choose, and of each choice. */
  constructor(private readonly frame: Frame, private readonly accepted: readonly string[], private readonly changed: () => void) {}

  /** The id of the scheme that is chosen; "" where nothing tells but the number. */
  get chosen(): string {
    return this.choice?.chosen ?? "";
  }

  /** Whether it is accepted by a scheme other than the one whose number it is. */
  get isBorne(): boolean {
    return this.chosen !== "";
  }

  /** What is typed, and the brand whose number it is. */
  set(digits: string, brand: Brand | null): void {
    [this.digits, this.brand] = [digits, brand];
    this.look();
    if (brand !== null && this.part === null && this.accepted.some((id) => brandNamed(id) === null)) void this.have();
  }

  setBusy(busy: boolean): void {
    this.busy = busy;
    this.choice?.setBusy(busy);
  }

  /** Loads the part; without it the card is paid by the scheme whose number it is. The next digit tries again. */
  private async have(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    const { frame } = this;
    const [part] = await Promise.all([load<typeof Schemes>(SCHEMES, location.href, this.tries++).catch(() => null), frame.later]);
    this.loading = false;
    if (part === null || !("schemeChoice" in frame.strings)) return;
    this.part = part;
    this.choice = new part.SchemeChoice(frame.strings, frame.form.fields.number.element, this.changed, frame.announce);
    this.choice.setBusy(this.busy);
    this.look();
    this.changed();
  }

  private look(): void {
    const { accepted, brand, digits, frame } = this;
    const second = brand === null ? [] : (this.part?.secondSchemes(digits) ?? []).filter((id) => accepted.includes(id));
    // Those whose marks the card bears and that are accepted, where it bears more than one.
    const borne = second.length === 0 || brand === null ? [] : [brand.id, ...second].filter((id) => accepted.includes(id));
    const named = (id: string): string => frame.view.PaymentMethods.find(({ Id }) => Id === id)?.Name ?? id;
    this.choice?.show(borne.map((id) => ({ id, name: named(id), drawing: drawingOf(frame, id) })));
  }
}
