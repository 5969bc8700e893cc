// The details of a bank transfer: a definition list whose values can be copied.

import { h } from "../shared/dom";
import type { Detail } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";

function copyButton(detail: Detail, value: Node, row: string, strings: Strings, announce: (text: string) => void): HTMLButtonElement {
  const button = h("button", { type: "button", class: "plain", id: `copy-${row}`, "aria-labelledby": `copy-${row} label-${row}` }, say(strings, "copy"));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(detail.copy);
    } catch {
      // Forbidden by the page: what is selected can be copied by hand.
      return getSelection()?.selectAllChildren(value);
    }
    button.textContent = say(strings, "copied");
    announce(`${detail.label}: ${say(strings, "copied")}`);
  });
  return button;
}

/** `announce` tells what was copied. Only pages of a secure context have a clipboard. */
export function detailList(details: readonly Detail[], strings: Strings, announce: (text: string) => void): HTMLElement {
  const rows = details.map((detail, index) => {
    const row = String(index);
    const value = h("bdi", {}, detail.text);
    const button = detail.copy !== "" && isSecureContext ? copyButton(detail, value, row, strings, announce) : null;
    return h("div", {}, h("dt", { id: `label-${row}` }, detail.label), h("dd", {}, value, button));
  });
  return h("dl", {}, ...rows);
}
