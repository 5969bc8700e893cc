// The frame's document around the form: its live region, and its height.

import { whenDrawn } from "../shared/when-drawn";

/** Both stand in frame.html; the live region has to be there before anything is said in it. */
const part = (id: "app" | "live"): HTMLElement => document.getElementById(id) as HTMLElement;

/** Says `message` politely; the same message twice in a row is said twice. */
export function announce(message: string): void {
  const live = part("live");
  live.textContent = live.textContent === message ? `${message}\u00a0` : message;
}

/** Shows `content`. */
export function show(content: HTMLElement): void {
  part("app").append(content);
}

/** Longer than a browser takes to draw; it draws nothing of a frame out of sight. */
const DRAWN_TIMEOUT_MS = 500;

/** Resolves once what is shown has been drawn, also by the shell, which is in the way until it has heard of it. */
export function drawn(): Promise<void> {
  return new Promise((resolve) => {
    whenDrawn(() => whenDrawn(resolve));
    setTimeout(resolve, DRAWN_TIMEOUT_MS);
  });
}

/** Calls back with the height of what is shown, now and whenever it changes. */
export function watchHeight(tell: (height: number) => void): void {
  let sent = 0;
  const app = part("app");
  const measure = (): void => {
    const height = Math.ceil(app.getBoundingClientRect().height);
    if (height > 0 && height !== sent) tell((sent = height));
  };
  measure();
  // Silent while the frame is out of sight, so what matters at once is measured above.
  new ResizeObserver(measure).observe(app);
}
