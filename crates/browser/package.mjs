// Makes npm/dist, which `npm pack` packs: what npm/src compiles to, with its types, the types of the drop-in itself, and the presets of its look.

import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

rmSync(join(here, "npm/dist"), { recursive: true, force: true });
execFileSync(process.execPath, [compiler, "--project", join(here, "npm")], { stdio: ["ignore", "inherit", "inherit"] });
copyFileSync(join(here, "dropin.d.ts"), join(here, "npm/dist/dropin.d.ts"));
copyFileSync(join(here, "src/appearance/appearance.css"), join(here, "npm/dist/appearance.css"));
