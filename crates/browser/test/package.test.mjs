// The npm package as a shop gets it: packed, unpacked beside React and Vue, built from the very text of docs/INTEGRATION.md, and paid with.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { compileScript, parse } from "vue/compiler-sfc";
import { CARD, until, useWorld, world } from "./harness.mjs";
import { cutOut, writeShop } from "./package/samples.mjs";

useWorld();

const root = fileURLToPath(new URL("..", import.meta.url));
const DECLINED = "4000000000000002";
const MOST_BYTES = 12_000;
let folder;
let unpacked;
let packed;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "dropin-package-"));
  [packed] = JSON.parse(execFileSync("npm", ["pack", "./npm", "--json", "--pack-destination", folder], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
  unpacked = join(folder, "node_modules/dropin-payment");
  mkdirSync(unpacked, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, packed.filename), "-C", unpacked, "--strip-components", "1"]);
  for (const name of ["react", "react-dom", "vue", "@types"]) symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
});

after(() => rmSync(folder, { recursive: true, force: true }));

test("the package has what its exports name, the drop-in's own types, and no dependency", () => {
  const parts = ["index", "react", "vue", "element", "mount"].flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]);
  assert.deepEqual(packed.files.map(({ path }) => path).sort(), ["README.md", "dist/appearance.css", "dist/dropin.d.ts", "package.json", ...parts].sort());
  assert.ok(packed.size < MOST_BYTES, `${packed.size} bytes packed`);
  const described = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
  assert.equal(described.dependencies, undefined);
  assert.deepEqual(Object.keys(described.peerDependencies), Object.keys(described.peerDependenciesMeta), "no peer is required");
  for (const [name, target] of Object.entries(described.exports)) {
    for (const path of Object.values(Object(target))) assert.ok(typeof target === "string" || statSync(join(unpacked, path)).size > 0, name);
  }
  assert.equal(readFileSync(join(unpacked, "dist/dropin.d.ts"), "utf8"), readFileSync(join(root, "dropin.d.ts"), "utf8"));
});

test("a server that renders pages may import all of it, and is told to load nothing there", async () => {
  const code = `
    import { createElement } from "react";
    import { renderToString } from "react-dom/server";
    import { loadDropin } from "dropin-payment";
    import { DropinPayment } from "dropin-payment/react";
    import "dropin-payment/vue";
    import "dropin-payment/element";
    console.log(renderToString(createElement(DropinPayment, { assetUrl: "https://pay.example", sessionId: "x", onSuccess() {} })));
    await loadDropin("https://pay.example").catch((error) => console.log(error.name));`;
  writeFileSync(join(folder, "server.mjs"), code);
  assert.equal(execFileSync(process.execPath, ["server.mjs"], { cwd: folder, encoding: "utf8" }), "<div></div>\nTypeError\n");
});

test("its types say what it takes", () => {
  writeFileSync(join(folder, "consumer.tsx"), readFileSync(join(root, "test/package/consumer.tsx")));
  const compilerOptions = { strict: true, noEmit: true, jsx: "react-jsx", module: "ESNext", moduleResolution: "bundler", target: "ES2022", exactOptionalPropertyTypes: true, skipLibCheck: true, types: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.tsx"] }));
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  execFileSync(process.execPath, [compiler, "--project", folder], { stdio: ["ignore", "inherit", "inherit"] });
});

/** A single-file component, compiled as Vue's own tools do. */
const vueFiles = {
  name: "vue-files",
  setup(esbuild) {
    esbuild.onLoad({ filter: /\.vue$/ }, ({ path }) => {
      const { descriptor } = parse(readFileSync(path, "utf8"), { filename: path });
      return { contents: compileScript(descriptor, { id: "checkout", inlineTemplate: true }).content, loader: "js", resolveDir: dirname(path) };
    });
  },
};

async function bundled(entry) {
  const define = { "import.meta.env.VITE_ASSET_URL": JSON.stringify(world.mock.assetUrl), "process.env.NODE_ENV": '"development"', __VUE_OPTIONS_API__: "true", __VUE_PROD_DEVTOOLS__: "false", __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false" };
  const options = { absWorkingDir: folder, entryPoints: [entry], bundle: true, write: false, format: "esm", jsx: "automatic", define, plugins: [vueFiles], logLevel: "error" };
  return (await build(options)).outputFiles[0].text;
}

/** A page of the shop that runs `code`, under the policy that docs/INTEGRATION.md tells; `html` stands in its body. */
async function open(code, { session = world.mock.session(), html = '<div id="root"></div>', policy = "", blocked = false } = {}) {
  const context = await world.browser.newContext({ locale: "en-US" });
  if (blocked) await context.route("**/v1/dropin.js", (route) => route.abort());
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  const origin = new URL(world.mock.assetUrl).origin;
  const headers = { "Content-Security-Policy": `default-src 'none'; script-src 'self' ${origin}; connect-src 'self'; img-src data:; frame-src ${origin}${policy}` };
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,"><h1>Shop</h1>${html}<script type="module" src="/app.js"></script></html>`;
  for (const [path, type, content, more] of [
    ["/app", "text/html", body, headers], ["/app.js", "text/javascript", code], ["/thanks", "text/html", "<title>Thanks</title>"],
    ["/api/checkout", "application/json", JSON.stringify({ SessionId: session, State: "CREATED" })],
  ]) world.mock.pages.set(path, [{ "Content-Type": `${type}; charset=utf-8`, ...more }, content]);
  await page.goto(`${world.mock.shopUrl}/app`);
  return { context, page, problems, session, frame: page.frameLocator(".body iframe") };
}

async function pay({ frame }, number = CARD.number) {
  await frame.locator("#code[aria-describedby]").waitFor({ state: "attached" });
  for (const [name, value] of Object.entries({ ...CARD, number })) await frame.locator(`#${name}`).fill(value);
  await until(async () => (await frame.locator("form .pay").getAttribute("aria-disabled")) === null, "the button to be ready");
  await frame.locator("form .pay").click();
}

for (const [name, entry] of [["React", "main.jsx"], ["Vue", "main.js"]]) {
  test(`the ${name} shop of docs/INTEGRATION.md is paid, after a decline, once`, async () => {
    writeShop(folder);
    const shop = await open(await bundled(entry));
    await pay(shop, DECLINED);
    await shop.frame.locator(".notice p").waitFor();
    assert.equal(await shop.page.locator("iframe").count(), 1, "React mounts twice in its strict mode, and one drop-in is left");
    await pay(shop);
    await shop.page.waitForURL("**/thanks");
    assert.equal(world.mock.entry(shop.session).payments, 2, "one of them declined");
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  });
}

test("the page with the element of docs/INTEGRATION.md is paid, and the element follows its attributes", async () => {
  const html = cutOut("element.html").replace("{asset_url}", world.mock.assetUrl);
  writeFileSync(join(folder, "element.js"), cutOut("element.js"));
  const shop = await open(await bundled("element.js"), { html });
  await shop.frame.locator("#number").waitFor();
  const element = shop.page.locator("dropin-payment");
  await element.evaluate((one) => {
    window.heard = [];
    for (const type of ["ready", "change", "methodSelected"]) one.addEventListener(type, ({ detail }) => window.heard.push([type, detail ?? null]));
    one.setAttribute("locale", "de_DE");
  });
  await until(async () => (await shop.frame.locator("label[for=number]").innerText()) === "Kartennummer", "German");
  await element.evaluate((one) => one.unselectPaymentMethod());
  const closed = { method: null, complete: false };
  await until(async () => JSON.stringify((await shop.page.evaluate(() => window.heard)).at(-1)) === JSON.stringify(["change", closed]), "the page to hear of it");
  const expected = [["ready", null], ["change", { method: "CARD", complete: false }], ["methodSelected", { method: null }], ["change", closed]];
  assert.deepEqual(await shop.page.evaluate(() => window.heard), expected);
  await element.locator(".toggle").first().click();
  await pay(shop);
  await shop.page.waitForURL("**/thanks");
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("an element that leaves the page takes its drop-in along, and comes back with another", async () => {
  writeFileSync(join(folder, "element.js"), cutOut("element.js"));
  const shop = await open(await bundled("element.js"), { html: cutOut("element.html").replace("{asset_url}", world.mock.assetUrl) });
  await shop.frame.locator("#number").waitFor();
  await shop.page.evaluate(() => (window.kept = document.querySelector("dropin-payment"), window.kept.remove()));
  await until(async () => (await shop.page.evaluate(() => window.kept.childElementCount)) === 0, "it to be empty");
  await shop.page.evaluate(() => document.body.append(window.kept));
  await shop.frame.locator("#number").waitFor();
  assert.equal(await shop.page.locator("iframe").count(), 1);
  await shop.context.close();
});

const LOADER = `
  import { loadDropin } from "dropin-payment";
  window.load = async (...given) => {
    try { const dropin = await loadDropin(...given); return [dropin === window.dropin, document.querySelectorAll("script[src$='dropin.js']").length]; }
    catch (error) { return [error.name, error.message]; }
  };`;

async function openLoader(more) {
  writeFileSync(join(folder, "loader.js"), LOADER);
  const shop = await open(await bundled("loader.js"), more);
  await until(() => shop.page.evaluate(() => "load" in window), "the loader");
  shop.load = (...given) => shop.page.evaluate((all) => window.load(...all), given);
  return shop;
}

test("the loader loads one script, knows where it is from, and says what is wrong with an address", async () => {
  const shop = await openLoader();
  const { assetUrl } = world.mock;
  for (const [address, why] of [["pay.example", /is no address/], ["http://pay.example", /must be https/], [`${assetUrl}?x`, /query/], ["javascript:alert(1)", /must be https/]]) {
    const [name, message] = await shop.load(address);
    assert.equal(name, "TypeError", address);
    assert.match(message, why);
  }
  assert.deepEqual(await shop.page.evaluate((url) => Promise.all([window.load(url), window.load(`${url}/`), window.load(url)]), assetUrl), Array(3).fill([true, 1]));
  const [name, message] = await shop.load("https://other.example");
  assert.deepEqual([name, /loads http:.*dropin\.js already/.test(message)], ["TypeError", true], message);
  await shop.context.close();
});

test("a script element of another service is not taken for ours", async () => {
  const shop = await openLoader({ html: `<script src="${world.mock.assetUrl}/v1/dropin.js"></script>` });
  assert.deepEqual(await shop.load(world.mock.assetUrl), [true, 1]);
  const [name, message] = await shop.load("https://other.example");
  assert.equal(name, "TypeError");
  assert.match(message, /has a drop-in from http:.*, and not from https:\/\/other\.example\/v1\//);
  await shop.context.close();
});

test("a script that does not come is tried again; a pinned one runs with its very bytes alone", async () => {
  const shop = await openLoader();
  const { version, outputs } = JSON.parse(readFileSync(join(root, "dist/manifest.json"), "utf8"));
  const right = { version, integrity: `sha384-${outputs["dropin.js"].sha384}` };
  let away = true;
  await shop.context.route("**/v1/dropin.js", (route) => (away ? route.abort() : route.continue()));
  assert.equal((await shop.load(world.mock.assetUrl))[0], "DropinLoadError");
  const wrong = { ...right, integrity: `sha384-${outputs["frame.js"].sha384}` };
  assert.equal((await shop.load(world.mock.assetUrl, wrong))[0], "DropinLoadError");
  assert.equal((await shop.load(world.mock.assetUrl, { version }))[0], "TypeError");
  assert.equal(await shop.page.evaluate(() => window.dropin), undefined);
  away = false;
  assert.deepEqual(await shop.load(world.mock.assetUrl, right), [true, 1]);
  const base = await shop.page.evaluate(() => window.dropin.base);
  assert.equal(base, `${world.mock.assetUrl}/v1/`, "its frame is where it always is");
  await shop.context.close();
});

test("a page that requires Trusted Types names the loader's policy, once for all tries", async () => {
  const shop = await openLoader({ policy: "; require-trusted-types-for 'script'; trusted-types dropin-payment" });
  let away = true;
  await shop.context.route("**/v1/dropin.js", (route) => (away ? route.abort() : route.continue()));
  assert.equal((await shop.load(world.mock.assetUrl))[0], "DropinLoadError");
  away = false;
  assert.deepEqual(await shop.load(world.mock.assetUrl), [true, 1]);
  await shop.context.close();
});

test("a page that requires no Trusted Types and forbids their policies loads the script all the same", async () => {
  const shop = await openLoader({ policy: "; trusted-types 'none'" });
  assert.deepEqual(await shop.load(world.mock.assetUrl), [true, 1]);
  await shop.context.close();
});

test("a component whose script does not come tells the page, with words for its shopper", async () => {
  writeShop(folder);
  const shop = await open(await bundled("main.jsx"), { blocked: true });
  await shop.page.locator("[role=alert]", { hasText: "did not load" }).waitFor();
  await shop.context.close();
});

