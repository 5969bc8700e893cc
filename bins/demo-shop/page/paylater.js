// Messages about paying later: the provider's script of the shopper's region, and the placements that it fills.

import { h } from "./kit.js";

/** The address and client id that were loaded. The provider's script can be loaded once on a page. */
let loaded = null;

/**
 * Asks the payment service whether the shopper can pay later here, and loads the provider's script. Resolves to whether there
 * are messages for this country and currency.
 */
export async function offerPayLater({ MethodsUrl }, country, currency) {
  if (country.Currency !== currency.Code) return false;
  const entry = await findMethod(`${MethodsUrl}&Country=${country.Code}&Currency=${currency.Code}`);
  const { ClientId, OnSiteJavaScriptUrl } = entry?.Parameters ?? {};
  if (OnSiteJavaScriptUrl === undefined) return false;
  if (loaded === null) {
    loaded = OnSiteJavaScriptUrl;
    document.head.append(h("script", { src: OnSiteJavaScriptUrl, async: true, "data-client-id": ClientId }));
  } else if (loaded !== OnSiteJavaScriptUrl) {
    // Another region's script takes a page of its own.
    location.reload();
  }
  return true;
}

async function findMethod(url) {
  try {
    const answer = await fetch(url);
    if (!answer.ok) return undefined;
    const { PaymentMethods } = await answer.json();
    return PaymentMethods.find(({ Id }) => Id === "PAYLATER");
  } catch {
    return undefined;
  }
}

/** A message beside a price; `amount` in the currency's smallest unit. */
export function message(country, amount) {
  return h("pay-later-placement", { "data-key": "product", "data-locale": `en-${country.Code}`, "data-purchase-amount": String(amount) });
}

/** The link to questions and answers, which a shop has to show wherever it shows messages. */
export function questions(country) {
  return h("pay-later-placement", { "data-key": "info-page", "data-locale": `en-${country.Code}` });
}
