// Builds dist/ and src/bundle.rs from src/, locales/ and dropin.d.ts. Same sources, same bytes: nothing depends on the
// machine or the time. The bundle is not minified: a payment script should be readable where it runs.

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
const OUTCOME = /^(?:again|amountChanged|another|away|bank|challenge|checking|close|continue|copied|copy|done|elsewhere|failed|goOn|lastTry|methodRefused|orderChanged|processing|retype|saved(?:Gone|Text|Title)|stopping)(?![a-z])/;
/** What is not the frame's to say: the shell speaks in its place, and the service on its own pages. */
const OTHERS = /^(?:notLoaded|page)(?![a-z])/;

/** The two files of a language. The first has the address of the second, so that scripts need to know but one. */
function localeParts(tag, all) {
  const json = (value) => Buffer.from(`${JSON.stringify(value)}\n`);
  const pick = (test) => Object.fromEntries(Object.entries(all).filter(([key]) => !OTHERS.test(key) && test(key)));
  const outcomes = json(pick((key) => OUTCOME.test(key)));
  const form = json({ outcomes: `outcomes/${tag}.json?${tagOf(outcomes)}`, ...pick((key) => !OUTCOME.test(key)) });
  return { [`locales/${tag}.json`]: form, [`outcomes/${tag}.json`]: outcomes };
}

/** Languages that nobody speaks are built as well: a page that asks for one by its tag is shown what long words do to it. */
const spoken = { ...texts, ...pseudoLocales(texts.en) };
const textParts = Object.assign({}, ...Object.entries(spoken).map(([tag, all]) => localeParts(tag, all)));

const fallback = Object.fromEntries(tags.map((tag) => [tag, [texts[tag].notLoadedTitle, texts[tag].notLoadedText]]));

/** `virtual:locales`: where the first file of each language is; `virtual:fallback`: what the shell says in each when the frame cannot. */
const virtual = {
  locales: `export const FINGERPRINTS = ${JSON.stringify(Object.fromEntries(Object.keys(spoken).map((tag) => [tag, tagOf(textParts[`locales/${tag}.json`])])))};`,
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

/** Style sheets in scripts, as text. They are shortened: what has to be readable where it runs is the script. */
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
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  logLevel: "warning",
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
};

/** The readable output with tabs, its outermost level at the margin, and without the comments that esbuild keeps or makes in some places: they are in the sources. */
function slim(text, outer) {
  return text
    .replace(/^\/\/ src\/.*\n|^ *\/\*(?:[^*]|\*(?!\/))*\*\/\n|^ +\/\/ .*\n/gm, "")
    .replaceAll("/* @__PURE__ */ ", "")
    .replace(/^( {2})+/gm, (indent) => "\t".repeat(indent.length / 2 - outer))
    .replace(/\n{2,}/g, "\n");
}

async function script(entry, name, format = "iife") {
  const banner = { js: `// Dropin: ${name}. Built from crates/browser/src by \`npm run build\`; do not edit.` };
  const options = { ...common, entryPoints: [entry], plugins: [virtualPlugin, sheetsPlugin], banner, format };
  return slim((await build(options)).outputFiles[0].text, format === "iife" ? 1 : 0);
}

/** Fills the addresses of the frame's own files, so that a cached file of another build is never mixed in. */
function page(template, parts) {
  const text = template.replace(/\{\{([\w.]+):(tag|integrity)\}\}/g, (_, name, what) =>
    what === "tag" ? tagOf(parts[name]) : `sha384-${hash("sha384", parts[name], "base64")}`,
  );
  return Buffer.from(text);
}

const TYPES = {
  js: "text/javascript; charset=utf-8",
  html: "text/html; charset=utf-8",
  json: "application/json",
  ts: "text/plain; charset=utf-8",
};

/** Files that are written out for each shopper are compressed by nobody. */
const packs = (path) => !path.endsWith(".html") && path !== "manifest.json";
const pack = {
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  gz: (bytes) => gzipSync(bytes, { level: 9 }),
};
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

/** Parts that only some shoppers need, by what sources call their addresses. */
const lazyPart = async (name) => [`${name}.js`, await script(`src/${name}/${name}.ts`, `${name}.js`, "esm")];
const lazy = { WALLET: await lazyPart("wallet"), DIALOG: await lazyPart("dialog"), SAVED: await lazyPart("saved"), FALLBACK: await lazyPart("fallback") };

/** They are loaded by their content's name, so that a cached file of another build is never mixed in, and with its digest. */
function loading(text) {
  const address = ([file, code]) => `./${file}?${tagOf(code)}`;
  const named = (name) => JSON.stringify([address(lazy[name]), `sha256-${hash("sha256", lazy[name][1], "base64")}`]);
  return Buffer.from(text.replace(/\b(?:WALLET|DIALOG|SAVED|FALLBACK)\b(?=[,)])/g, named));
}

const parts = {
  "dropin.js": loading(await script("src/shell/init.ts", "dropin.js")),
  "frame.js": loading(await script("src/frame/frame.ts", "frame.js")),
  ...Object.fromEntries(Object.values(lazy).map(([name, text]) => [name, Buffer.from(text)])),
  "challenge.js": Buffer.from(await script("src/challenge/challenge.ts", "challenge.js")),
  "dropin.d.ts": read("dropin.d.ts"),
};
for (const name of ["frame", "challenge"]) parts[`${name}.html`] = page(read(`src/${name}/${name}.html`).toString(), parts);
Object.assign(parts, textParts);

const sources = [...filesUnder("src"), ...localeFiles, "dropin.d.ts", "languages.json"].filter((path) => !path.endsWith(".rs")).sort();
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
      { ...described(bytes), ...(packs(path) && { br: described(pack.br(bytes)), gz: described(pack.gz(bytes)) }) },
    ]),
  ),
};
outputs.push(["manifest.json", Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)]);
outputs.sort(([a], [b]) => (a < b ? -1 : 1));

rmSync(dist, { recursive: true, force: true });
for (const [path, bytes] of outputs) {
  mkdirSync(dirname(join(dist, path)), { recursive: true });
  writeFileSync(join(dist, path), bytes);
  if (packs(path)) for (const [as, by] of Object.entries(pack)) writeFileSync(join(dist, `${path}.${as}`), by(bytes));
}
writeFileSync(join(here, "src/bundle.rs"), rustTable(outputs, version));
console.log(`${relative(process.cwd(), dist) || "dist"}: version ${version}, ${outputs.length} files`);
