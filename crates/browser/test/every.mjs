// `npm run every [-- suite] [languages] [ENGINE...]`: the whole suite, and axe in every language, those of tests included, in both schemes and in every state, in Chromium, Firefox and
// WebKit. Too long for CI. `cargo xtask browser --all` runs it.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const ENGINES = ["chromium", "firefox", "webkit"];
/** Few enough that no engine is waited for alone in the end. */
const LANGUAGES_PER_PART = 3;
/** A job that takes longer has failed. */
const PART_TIMEOUT_MS = 15 * 60_000;

const KINDS = ["suite", "languages"];
const asked = process.argv.slice(2);
const named = (all) => (all.some((name) => asked.includes(name)) ? all.filter((name) => asked.includes(name)) : all);
if (asked.some((name) => ![...KINDS, ...ENGINES].includes(name))) throw new Error(`npm run every [-- ...]: of ${[...KINDS, ...ENGINES]}`);
const engines = named(ENGINES);

/** Axe, in a few languages at a time. */
function languageJobs() {
  const { tags } = JSON.parse(readFileSync(`${here}/../languages.json`, "utf8"));
  const languages = [...tags, "en-XA", "en-XC"];
  const parts = Array.from({ length: Math.ceil(languages.length / LANGUAGES_PER_PART) }, (_, index) => languages.slice(index * LANGUAGES_PER_PART, (index + 1) * LANGUAGES_PER_PART).join());
  return parts.flatMap((part) => engines.map((engine) => ({ engine, name: part, file: "access.test.mjs", env: { DROPIN_LANGUAGES: part } })));
}

/** All files in Chromium, and in the others those that open a page in the engine that is named. */
function suiteJobs() {
  const files = readdirSync(here).filter((name) => name.endsWith(".test.mjs"));
  const opens = (file) => readFileSync(`${here}/${file}`, "utf8").includes("useWorld();");
  return files.flatMap((file) => engines.filter((engine) => engine === "chromium" || opens(file)).map((engine) => ({ engine, name: file.replace(".test.mjs", ""), file, env: {} })));
}

const kinds = named(KINDS);
const jobs = [...(kinds.includes("suite") ? suiteJobs() : []), ...(kinds.includes("languages") ? languageJobs() : [])];

const running = new Set();
/** Ends a part with the browsers that it has started: each leads a process group of its own. */
function end({ pid }) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
process.on("exit", () => running.forEach(end));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** Runs a file of tests: how many passed, failed and were skipped and why, and how often axe was asked. */
async function run({ engine, name, file, env: more }) {
  const begun = Date.now();
  const env = { ...process.env, DROPIN_ENGINE: engine, DROPIN_COUNT: "1", ...more };
  const child = spawn(process.execPath, ["--test-reporter=tap", `${here}/${file}`], { env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  const timer = setTimeout(end, PART_TIMEOUT_MS, child);
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  const code = await new Promise((resolve) => child.on("close", resolve));
  clearTimeout(timer);
  running.delete(child);
  const count = (pattern) => Number(pattern.exec(said)?.[1] ?? 0);
  const [passed, failed, skipped, judged] = [/^# pass (\d+)/m, /^# fail (\d+)/m, /^# skipped (\d+)/m, /(\d+) times axe/].map(count);
  const isGood = code === 0 && passed > 0;
  const seconds = Math.round((Date.now() - begun) / 1000);
  console.log(`${isGood ? "ok" : "FAILED"} ${engine} ${name}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${judged} times axe, ${seconds} s`);
  if (!isGood) console.log(said.split("\n").filter((line) => !/^\s*ok |^\s*(?:---|\.\.\.|duration_ms|type:)/.test(line)).join("\n"));
  const cannot = [...said.matchAll(/^ok \d+ - (.*) # SKIP (.*)$/gm)].map(([, test, why]) => `${engine} cannot: ${why}: ${test}`);
  return { engine, isGood, passed, judged, cannot };
}

const begun = Date.now();
const done = [];
await Promise.all(Array.from({ length: availableParallelism() + 1 }, async () => {
  for (let job = jobs.shift(); job; job = jobs.shift()) done.push(await run(job));
}));
for (const engine of ENGINES) {
  const all = done.filter((one) => one.engine === engine);
  const sum = (name) => all.reduce((total, one) => total + one[name], 0);
  if (all.length > 0) console.log(`${engine}: ${sum("passed")} tests passed, ${sum("judged")} times axe, ${all.filter(({ isGood }) => !isGood).length} of ${all.length} parts failed`);
}
for (const line of new Set(done.flatMap(({ cannot }) => cannot))) console.log(line);
console.log(`${Math.round((Date.now() - begun) / 1000)} s in all`);
process.exitCode = done.every(({ isGood }) => isGood) ? 0 : 1;
