// What it costs a shopper to see the form: requests and bytes, as a browser counts them, first and on the next page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openShop, useWorld, world } from "./harness.mjs";
import { savedCard } from "./mock-server.mjs";

useWorld();

const MOST_REQUESTS = 4;
const MOST_BYTES = 34_500;
/** More, where there are saved cards. */
const SAVED_BYTES = 5_000;

/** The requests to the asset origin from here on, with what each of them brought over the line. */
function watch(context) {
  const seen = [];
  context.on("requestfinished", async (request) => {
    if (!request.url().startsWith(world.mock.assetUrl)) return;
    const { pathname, search } = new URL(request.url());
    const entry = { path: pathname.replace("/asset/v1/", ""), search, bytes: 0 };
    seen.push(entry);
    const { responseBodySize, responseHeadersSize } = await request.sizes();
    entry.bytes = responseBodySize + responseHeadersSize;
  });
  return seen;
}

for (const locale of ["en_US", "ar_EG"]) {
  test(`the form is ready after ${MOST_REQUESTS} requests and ${MOST_BYTES} bytes in ${locale}; the next page asks for the Session alone`, async () => {
    const context = await world.browser.newContext();
    const seen = watch(context);
    const options = { locale };
    const shop = await openShop({ session: world.mock.session({ others: true, Sandbox: true }), options, context });
    assert.deepEqual(seen.map(({ path }) => path).sort(), ["dropin.js", "frame.html", "frame.js", `locales/${locale.slice(0, 2)}.json`]);
    assert.ok(seen.length <= MOST_REQUESTS);
    for (const { path, search } of seen) if (!/^(?:dropin\.js|frame\.html)$/.test(path)) assert.match(search, /^\?[\da-f]{12}$/, `${path} is kept for ever`);
    const sum = seen.reduce((total, { bytes }) => total + bytes, 0);
    assert.ok(sum > 20_000 && sum <= MOST_BYTES, `${sum} bytes: ${JSON.stringify(seen)}`);
    const asked = world.mock.requests.length;
    await shop.page.close();
    await openShop({ session: world.mock.session(), options, context });
    const again = world.mock.requests.slice(asked).map(({ path }) => path.replace("/asset/v1/", ""));
    assert.deepEqual(again, ["frame.html"], "everything else is kept");
    await context.close();
  });
}

test("a shopper with saved cards loads one part more, beside the texts", async () => {
  const context = await world.browser.newContext();
  const seen = watch(context);
  const session = world.mock.session({ others: true, SavedCards: [savedCard("4242")] });
  const shop = await openShop({ session, options: { locale: "ar_EG" }, context, wait: false });
  await shop.frame.locator(".accordion .toggle").first().waitFor();
  assert.deepEqual(seen.map(({ path }) => path).sort(), ["dropin.js", "frame.html", "frame.js", "locales/ar.json", "saved.js"]);
  const sum = seen.reduce((total, { bytes }) => total + bytes, 0);
  assert.ok(sum <= MOST_BYTES + SAVED_BYTES, `${sum} bytes`);
  assert.match(seen.find(({ path }) => path === "saved.js").search, /^\?[\da-f]{12}$/, "it is kept for ever");
  await context.close();
});
