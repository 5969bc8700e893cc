// `npm run every [-- ENGINE...]`: axe in every language, those of tests included, in both schemes and in every state, in Chromium, Firefox and WebKit.
// Too long for CI. `cargo xtask browser` runs it.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const ENGINES = ["chromium", "firefox", "webkit"];
/** Few enough that no engine is waited for alone in the end. */
const LANGUAGES_PER_PART = 3;
/** A job that takes longer has failed. */
const PART_TIMEOUT_MS = 15 * 60_000;

const asked = process.argv.slice(2);
if (asked.some((name) => !ENGINES.includes(name))) throw new Error(`npm run every [-- ENGINE...]: of ${ENGINES}`);
const { tags } = JSON.parse(readFileSync(`${here}/../languages.json`, "utf8"));
const languages = [...tags, "en-XA", "en-XC"];
const parts = Array.from({ length: Math.ceil(languages.length / LANGUAGES_PER_PART) }, (_, index) => languages.slice(index * LANGUAGES_PER_PART, (index + 1) * LANGUAGES_PER_PART).join());

const engines = asked.length > 0 ? asked : ENGINES;
const jobs = parts.flatMap((part) => engines.map((engine) => ({ engine, part })));

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

/** Runs the tests in some languages: how many tests passed, failed and were skipped, and how often axe was asked. */
async function run({ engine, part }) {
  const begun = Date.now();
  const env = { ...process.env, DROPIN_ENGINE: engine, DROPIN_COUNT: "1", DROPIN_LANGUAGES: part };
  const child = spawn(process.execPath, ["--test-reporter=tap", `${here}/access.test.mjs`], { env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
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
  console.log(`${isGood ? "ok" : "FAILED"} ${engine} ${part}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${judged} times axe, ${seconds} s`);
  if (!isGood) console.log(said.split("\n").filter((line) => !/^\s*ok |^\s*(?:---|\.\.\.|duration_ms|type:)/.test(line)).join("\n"));
  return { engine, isGood, passed, judged };
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
console.log(`${Math.round((Date.now() - begun) / 1000)} s in all`);
process.exitCode = done.every(({ isGood }) => isGood) ? 0 : 1;
