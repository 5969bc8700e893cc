// The shops of docs/INTEGRATION.md that are built with npm, as they stand there.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const document = readFileSync(new URL("../../../../docs/INTEGRATION.md", import.meta.url), "utf8");

/** The code block behind `<!-- sample: NAME -->`. */
export function cutOut(name) {
  const rest = document.split(`<!-- sample: ${name} -->\n\`\`\``)[1];
  if (rest === undefined) throw new Error(`docs/INTEGRATION.md has no sample ${name}`);
  return rest.slice(rest.indexOf("\n") + 1, rest.indexOf("\n```\n") + 1);
}

/** The components, with the entries that show them as the frameworks' own templates do. */
export function writeShop(folder) {
  for (const name of ["Checkout.jsx", "Checkout.vue"]) writeFileSync(join(folder, name), cutOut(name));
  const react = `import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Checkout } from "./Checkout.jsx";

createRoot(document.getElementById("root")).render(<StrictMode><Checkout /></StrictMode>);
`;
  const vue = `import { createApp } from "vue";
import Checkout from "./Checkout.vue";

createApp(Checkout).mount("#root");
`;
  writeFileSync(join(folder, "main.jsx"), react);
  writeFileSync(join(folder, "main.js"), vue);
}
