// Judges notifications as a merchant's server would: with the official library, and with the function that docs/INTEGRATION.md shows.
// Reads [{headers, body (base64), secret}] and writes [{library, documented}].
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Webhook } from "standardwebhooks";

const [cases, snippet] = process.argv.slice(2);
const { isOurs } = await import(pathToFileURL(snippet));

function libraryBelieves({ headers, secret }, body) {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch (error) {
    if (error.constructor.name !== "WebhookVerificationError") throw error;
    return false;
  }
}

const verdicts = JSON.parse(readFileSync(cases, "utf8")).map((one) => {
  const body = Buffer.from(one.body, "base64");
  return { library: libraryBelieves(one, body), documented: isOurs(one.headers, body, one.secret) };
});
writeFileSync(1, JSON.stringify(verdicts));
