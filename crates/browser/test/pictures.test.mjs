// The drop-in looks as the pictures in test/pictures show it: places, sizes, colours and marks, with a box for each character, because fonts are the machine's.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { executablePath } from "./browser.mjs";
import { world } from "./harness.mjs";
import { CASES, difference, FOLDER, PICTURE_FLAGS, take, TOLERANCES } from "./kept-pictures.mjs";
import { Mock } from "./mock-server.mjs";

const MOST_BYTES = 300_000;
const OUT = fileURLToPath(new URL("../../../target/pictures", import.meta.url));
const kept = (name) => join(FOLDER, `${name}.png`);

let page;
before(async () => {
  rmSync(OUT, { recursive: true, force: true });
  world.mock = await new Mock().start();
  world.browser = await chromium.launch({ executablePath, args: PICTURE_FLAGS });
  page = await world.browser.newPage();
});
after(async () => {
  await world.browser?.close();
  world.mock?.stop();
});

/** Writes down the pictures that a person has to look at, and says where they are. */
function show(name, seen, where) {
  mkdirSync(OUT, { recursive: true });
  const paths = { kept: readFileSync(kept(name)), seen, difference: where && Buffer.from(where, "base64") };
  const written = Object.entries(paths).filter(([, bytes]) => bytes).map(([what, bytes]) => {
    const path = join(OUT, `${name}-${what}.png`);
    writeFileSync(path, bytes);
    return path;
  });
  return `${written.join("\n")}\nIf it shall look so: npm run pictures -- --accept ${name}, look at test/pictures/${name}.png, and commit it.`;
}

for (const [name, one] of Object.entries(CASES)) {
  test(`it looks as in ${name}.png`, async () => {
    const seen = await take(one);
    const both = [readFileSync(kept(name)), seen].map((bytes) => bytes.toString("base64"));
    const { sizes, different, pixels, where } = await page.evaluate(difference, [...both, TOLERANCES.map(({ steps }) => steps)]);
    const told = TOLERANCES.map(({ steps, part }, index) => `${different[index]} of ${pixels} pixels differ by more than ${steps} of 255, ${Math.floor(part * pixels)} may`);
    if (sizes[0] !== sizes[1]) assert.fail(`${name} is ${sizes[1]} pixels, and was ${sizes[0]}:\n${show(name, seen, null)}`);
    if (TOLERANCES.some(({ part }, index) => different[index] > part * pixels)) assert.fail(`${name} looks different (${told.join("; ")}):\n${show(name, seen, where)}`);
  });
}

test("every picture that is kept is compared, and all are small", () => {
  const files = readdirSync(FOLDER).sort();
  assert.deepEqual(files, Object.keys(CASES).map((name) => `${name}.png`).sort(), "test/pictures: npm run pictures -- --accept NAME takes one that is missing; delete the file that no case names");
  const bytes = files.reduce((sum, file) => sum + statSync(join(FOLDER, file)).size, 0);
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes of ${MOST_BYTES}`);
});
