/** Calls back once the frame is drawn. While the shell hides it, nothing in it is announced or can have the focus. */
export function whenDrawn(run: () => void): void {
  requestAnimationFrame(() => requestAnimationFrame(run));
}
