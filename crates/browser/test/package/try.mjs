// The npm package as a new merchant meets it: `npm run try-package`. Makes a Vite + React project of the versions below and the text of docs/INTEGRATION.md, installs the
// packed package in it, builds it with Vite and pays in Chromium. Not part of CI, which builds the same text with esbuild (package.test.mjs): it asks the npm registry.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { executablePath, FLAGS } from "../browser.mjs";
import { CARD } from "../harness.mjs";
import { Mock } from "../mock-server.mjs";
import { writeShop } from "./samples.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "dropin-vite-"));
const run = (program, ...given) => execFileSync(program, given, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css" };

const mock = await new Mock().start();
const browser = await chromium.launch({ executablePath, args: FLAGS });
const session = mock.session();
const built = join(folder, "dist");
const shop = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://shop");
  if (pathname === "/api/checkout") return response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ SessionId: session, State: "CREATED" }));
  if (pathname === "/thanks") return response.writeHead(200, { "Content-Type": "text/html" }).end("<title>Thanks</title>");
  const name = pathname === "/" ? "index.html" : pathname.slice(1);
  const there = readdirSync(built, { recursive: true }).includes(name);
  response.writeHead(there ? 200 : 404, { "Content-Type": TYPES[name.split(".").at(-1)] ?? "text/plain" }).end(there ? readFileSync(join(built, name)) : "");
});
try {
  cpSync(join(root, "test/package/vite"), folder, { recursive: true });
  run("npm", "ci", "--no-audit", "--no-fund");
  execFileSync("npm", ["pack", "./npm", "--pack-destination", folder], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  run("npm", "install", "--no-audit", "--no-fund", "--no-save", ...readdirSync(folder).filter((name) => name.endsWith(".tgz")).map((name) => `./${name}`));
  mkdirSync(join(folder, "src"));
  writeShop(join(folder, "src"));
  writeFileSync(join(folder, ".env"), `VITE_ASSET_URL=${mock.assetUrl}\n`);
  run("npm", "run", "build");
  await new Promise((resolve) => shop.listen(0, "localhost", resolve));
  const address = `http://localhost:${shop.address().port}`;
  mock.entry(session).session.MerchantOrigins = [address];
  const page = await browser.newPage();
  await page.goto(address);
  const frame = page.frameLocator(".body iframe");
  await frame.locator("#code[aria-describedby]").waitFor({ state: "attached" });
  for (const [name, value] of Object.entries(CARD)) await frame.locator(`#${name}`).fill(value);
  await frame.locator("form .pay").click();
  await page.waitForURL("**/thanks");
  assert.equal(mock.entry(session).payments, 1);
  console.log("A Vite + React project made from docs/INTEGRATION.md was paid.");
} finally {
  await browser.close();
  mock.stop();
  shop.closeAllConnections();
  shop.close();
  rmSync(folder, { recursive: true, force: true });
}
