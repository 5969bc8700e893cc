// Builds dist/ and src/bundle.rs from src/, locales/ and dropin.d.ts. Same sources, same bytes: nothing depends on the
// machine or the time. Scripts are minified; beside each is its source map, with the sources in it.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, transform, version as esbuildVersion } from "esbuild";
import { pseudoLocales } from "./pseudo.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const hash = (name, bytes, encoding) => createHash(name).update(bytes).digest(encoding);

function filesUnder(folder) {
  const entries = readdirSync(join(here, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

const read = (path) => readFileSync(join(here, path));
/** One list names the languages: it decides what is built, lib.rs serves by it, and the tests go through it. */
const languages = JSON.parse(read("languages.json"));
const { tags } = languages;
const localeFiles = filesUnder("locales").sort();
const unlisted = localeFiles.filter((path) => !tags.includes(path.slice("locales/".length, -".json".length)));
if (unlisted.length > 0) throw new Error(`${unlisted}: name the language in languages.json, or take the file away`);

const texts = Object.fromEntries(tags.map((tag) => [tag, JSON.parse(read(`locales/${tag}.json`))]));

/** The content's name in a file's address: whoever asks for it may keep the answer for ever. */
const tagOf = (bytes) => hash("sha256", bytes, "hex").slice(0, 12);

/** What nobody reads before a payment was begun, or the Session turned out to take none. The form waits for the other texts alone. */
const OUTCOME = /^(?:again|amountChanged|another|away|bank|challenge|checking|close|continue|copied|copy|done|elsewhere|failed|goOn|lastTry|methodRefused|orderChanged|postcode|processing|retype|saved(?:Gone|Text|Title)|scheme|stopping)(?![a-z])/;
/** What is not the frame's to say: the shell speaks in its place, and the service on its own pages. */
const OTHERS = /^(?:notLoaded|page)(?![a-z])/;

/** The two files of a language. The service writes their addresses into the frame's page. */
function localeParts(tag, all) {
  const json = (value) => Buffer.from(`${JSON.stringify(value)}\n`);
  const pick = (test) => Object.fromEntries(Object.entries(all).filter(([key]) => !OTHERS.test(key) && test(key)));
  const outcomes = json(pick((key) => OUTCOME.test(key)));
  const form = json(pick((key) => !OUTCOME.test(key)));
  return { [`locales/${tag}.json`]: form, [`outcomes/${tag}.json`]: outcomes };
}

/** Languages that nobody speaks are built as well: a page that asks for one by its tag is shown what long words do to it. */
const spoken = { ...texts, ...pseudoLocales(texts.en) };
const textParts = Object.assign({}, ...Object.entries(spoken).map(([tag, all]) => localeParts(tag, all)));

const fallback = Object.fromEntries(tags.map((tag) => [tag, [texts[tag].notLoadedTitle, texts[tag].notLoadedText]]));

/** Which numbers bear the mark of a second scheme: the table of the service (crates/domain/card). */
const CO_BADGED = "../domain/card/src/co_badges.txt";
function coBadged() {
  const ranges = {};
  for (const line of read(CO_BADGED).toString().split("\n").filter((one) => one !== "" && !one.startsWith("#"))) {
    const [id, ...more] = line.split(" ");
    ranges[id] = [...(ranges[id] ?? []), ...more];
  }
  return Object.fromEntries(Object.entries(ranges).map(([id, all]) => [id, all.join(" ")]));
}

/** `virtual:fallback`: what the shell says in each language when the frame cannot. */
const virtual = {
  "co-badged": `export const CO_BADGED = ${JSON.stringify(coBadged())};`,
  fallback: `export const TEXTS = ${JSON.stringify(fallback)};\nexport const ENGLISH = ${JSON.stringify(fallback.en)};`,
};

const virtualPlugin = {
  name: "virtual",
  setup(esbuild) {
    esbuild.onResolve({ filter: /^virtual:/ }, ({ path }) => ({ path: path.slice("virtual:".length), namespace: "virtual" }));
    esbuild.onLoad({ filter: /.*/, namespace: "virtual" }, ({ path }) => ({ contents: virtual[path], loader: "js" }));
  },
};

/** Without the spaces that mean nothing in custom properties, which esbuild leaves alone. */
const tight = (css) => css.replace(/(--[\w-]+): /g, "$1:").replace(/(var\(--[\w-]+), /g, "$1,");

/** Style sheets in scripts, as text. */
const sheetsPlugin = {
  name: "sheets",
  setup(esbuild) {
    esbuild.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path), { loader: "css", minify: true, target: common.target });
      return { contents: tight(code).trim(), loader: "text" };
    });
  },
};

const common = {
  absWorkingDir: here,
  bundle: true,
  write: false,
  charset: "utf8",
  legalComments: "none",
  minify: true,
  sourcemap: "external",
  sourcesContent: true,
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  logLevel: "warning",
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
};

/** Names of members that are only ever ours, and nothing of the browser, the service, the page or a message: they are shortened. */
const MANGLED = new RegExp(`^(?:${JSON.parse(read("mangled.json")).join("|")})$`);

/** Names that were shortened, the same in all scripts: they hand objects to each other. */
let mangleCache = {};

/** The scripts that are built so far, and their source maps, by their names. */
const scripts = {};

/** Builds `name` and its source map. `define` has the addresses of the parts that it loads. */
async function script(entry, name, format, define) {
  const options = { ...common, entryPoints: [entry], outfile: name, plugins: [virtualPlugin, sheetsPlugin], format, define, mangleProps: MANGLED, mangleCache };
  const built = await build(options);
  mangleCache = built.mangleCache;
  const [code, map] = [".js", ".map"].map((ending) => built.outputFiles.find(({ path }) => path.endsWith(ending)).text);
  scripts[name] = Buffer.from(`${code.trimEnd()}\n//# sourceMappingURL=${name}.map\n`);
  scripts[`${name}.map`] = Buffer.from(map);
}

/** A page without blanks between its tags, and with the addresses of its own files. */
function page(template, parts) {
  const text = template.replace(/\{\{([\w.]+):(tag|integrity)\}\}/g, (_, name, what) =>
    what === "tag" ? tagOf(parts[name]) : `sha384-${hash("sha384", parts[name], "base64")}`,
  );
  return Buffer.from(text.replace(/\n\s*/g, ""));
}

const TYPES = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  json: "application/json",
  map: "application/json",
  ts: "text/plain; charset=utf-8",
};

/** Files that are written out for each shopper are compressed by nobody. */
const packs = (path) => !path.endsWith(".html") && path !== "manifest.json";
/** How Brotli writes distances (RFC 7932, section 4: NPOSTFIX, and NDIRECT). Which is the smallest is seen by trying; nobody waits for a source map. */
const DISTANCES = [[0, 0], [1, 4], [2, 0], [2, 8], [3, 24]];
function brotli(bytes, path) {
  const tries = DISTANCES.slice(0, path.endsWith(".map") ? 1 : undefined).map(([postfix, direct]) => brotliCompressSync(bytes, { params: {
    [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_NPOSTFIX]: postfix, [constants.BROTLI_PARAM_NDIRECT]: direct,
  } }));
  return tries.reduce((best, one) => (one.length < best.length ? one : best));
}
const pack = {
  br: brotli,
  gz: (bytes) => gzipSync(bytes, { level: 9 }),
};
/** The compressed forms of a file, each made once. */
const made = new Map();
function packed(path, bytes) {
  if (!made.has(path)) made.set(path, packs(path) ? Object.fromEntries(Object.entries(pack).map(([as, by]) => [as, by(bytes, path)])) : {});
  return made.get(path);
}
const compressed = (path, as) => (packs(path) ? `Some(include_bytes!("../dist/${path}.${as}"))` : "None");

/** What lib.rs knows of languages: the same as the scripts do, and all texts for the service's own pages. */
function rustLanguages() {
  const language = (tag) => `Language { tag: "${tag}", is_right_to_left: ${languages.rightToLeft.includes(tag)}, texts: include_str!("../locales/${tag}.json") }`;
  const aliases = Object.entries(languages.aliases).map(([from, to]) => `    ("${from}", "${to}"),`);
  return `pub(crate) const ENGLISH: Language =
    ${language("en")};

pub(crate) static LANGUAGES: &[Language] = &[
${tags.map((tag) => `    ${tag === "en" ? "ENGLISH" : language(tag)},`).join("\n")}
];

pub(crate) const ALIASES: &[(&str, &str)] = &[
${aliases.join("\n")}
];
`;
}

function rustTable(outputs, version) {
  const asset = ([path, bytes]) => `    Asset {
        path: "${path}",
        content_type: "${TYPES[path.split(".").at(-1)]}",
        bytes: include_bytes!("../dist/${path}"),
        brotli: ${compressed(path, "br")},
        gzip: ${compressed(path, "gz")},
        fingerprint: "${tagOf(bytes)}",
        sha384: "${hash("sha384", bytes, "base64")}",
    },`;
  return `// Written by \`npm run build\` in crates/browser; do not edit.

use crate::{Asset, Language};

pub(crate) const VERSION: &str = "${version}";

pub(crate) static ASSETS: &[Asset] = &[
${outputs.map(asset).join("\n")}
];

${rustLanguages()}`;
}

/** A part that another script loads, by its content's name, so that a cached file of another build is never mixed in, and with its digest. */
async function part(name, define = {}) {
  const file = `${name}.js`;
  await script(`src/${name}/${name}.ts`, file, "esm", define);
  return { [name.toUpperCase()]: JSON.stringify([`${file}?${tagOf(scripts[file])}`, `sha256-${hash("sha256", scripts[file], "base64")}`]) };
}

const wallet = await part("wallet");
const progress = await part("progress", { ...wallet, ...(await part("dialog")) });
const payment = await part("payment", { ...wallet, ...(await part("schemes")), ...(await part("postcode")) });
await script("src/shell/init.ts", "dropin.js", "iife", { ...progress, ...(await part("fallback")) });
await script("src/frame/frame.ts", "frame.js", "iife", { ...payment, ...(await part("saved")) });
await script("src/challenge/challenge.ts", "challenge.js", "iife");
// Merchants read it and copy from it: it stays as it is written.
const parts = { ...scripts, "appearance.css": read("src/appearance/appearance.css"), "dropin.d.ts": read("dropin.d.ts") };
for (const name of ["frame", "challenge"]) parts[`${name}.html`] = page(read(`src/${name}/${name}.html`).toString(), parts);
Object.assign(parts, textParts);

const sources = [...filesUnder("src"), ...localeFiles, "dropin.d.ts", "languages.json", "mangled.json", CO_BADGED].filter((path) => !path.endsWith(".rs")).sort();
const outputs = Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1));
const version = hash("sha256", outputs.map(([path, bytes]) => `${path} ${hash("sha256", bytes, "hex")}\n`).join(""), "hex").slice(0, 16);
const described = (bytes) => ({ size: bytes.length, sha384: hash("sha384", bytes, "base64") });
const manifest = {
  version,
  esbuild: esbuildVersion,
  sources: Object.fromEntries(sources.map((path) => [path, hash("sha256", read(path), "hex")])),
  outputs: Object.fromEntries(
    outputs.map(([path, bytes]) => [
      path,
      { ...described(bytes), ...Object.fromEntries(Object.entries(packed(path, bytes)).map(([as, small]) => [as, described(small)])) },
    ]),
  ),
};
outputs.push(["manifest.json", Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)]);
outputs.sort(([a], [b]) => (a < b ? -1 : 1));

rmSync(dist, { recursive: true, force: true });
for (const [path, bytes] of outputs) {
  mkdirSync(dirname(join(dist, path)), { recursive: true });
  writeFileSync(join(dist, path), bytes);
  for (const [as, small] of Object.entries(packed(path, bytes))) writeFileSync(join(dist, `${path}.${as}`), small);
}
writeFileSync(join(here, "src/bundle.rs"), rustTable(outputs, version));
console.log(`${relative(process.cwd(), dist) || "dist"}: version ${version}, ${outputs.length} files`);
