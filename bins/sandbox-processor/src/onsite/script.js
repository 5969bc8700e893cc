// The sandbox provider's on-site messages about paying later.
//
//   <script async src="…/onsite/eu/script.js" data-client-id="…"></script>
//   <pay-later-placement data-key="product" data-locale="de-AT" data-purchase-amount="2999"></pay-later-placement>
//   <pay-later-placement data-key="info-page" data-locale="de-AT"></pay-later-placement>
//
// A placement that makes no sense shows nothing: an unknown key or locale, a country of another region, an amount that is not a
// whole number of minor units, another region's client id. Nothing here parses markup or needs a permission beyond its own script.

(() => {
  const TAG = "pay-later-placement";
  const script = document.currentScript;
  // A page that loads the script twice keeps the first one.
  if (script === null || customElements.get(TAG)) return;

  /** What the provider offers, and where; all currencies have two decimals. */
  const REGIONS = {
    eu: {
      days: [14, 21, 30], parts: 3,
      currencies: { AT: "EUR", BE: "EUR", CH: "CHF", DE: "EUR", DK: "DKK", ES: "EUR", FI: "EUR", FR: "EUR", GB: "GBP", IT: "EUR", NL: "EUR", NO: "NOK", SE: "SEK" },
    },
    na: { days: [30], parts: 4, currencies: { US: "USD" } },
    oc: { days: [], parts: 4, currencies: { AU: "AUD" } },
  };
  const name = /\/onsite\/(\w+)\/script\.js$/.exec(new URL(script.src).pathname)?.[1] ?? "";
  const region = Object.hasOwn(REGIONS, name) ? REGIONS[name] : null;

  const WORDS = {
    en: {
      mark: "Pay later",
      both: "Buy now and pay in {days} days, or in {parts}.",
      parts: "Buy now and pay in {parts}.",
      even: "{n} payments of {part}",
      uneven: "{n} payments: {first} first, then {part} each",
      link: "How paying later works",
      close: "Close",
      sandbox: "This is a sandbox: nobody lends anything here.",
      questions: [
        ["When do I pay?", "You choose at the checkout: {options}."],
        ["Who decides whether I can pay later?", "The provider, for each purchase. You see its offer before you confirm anything."],
        ["What if I send something back?", "The shop tells the provider, and you owe that much less."],
      ],
      now: "now", after: "in {days} days", instalments: "in {n} payments",
    },
    de: {
      mark: "Später zahlen",
      both: "Jetzt kaufen und in {days} Tagen zahlen oder in {parts}.",
      parts: "Jetzt kaufen und in {parts} zahlen.",
      even: "{n} Raten zu {part}",
      uneven: "{n} Raten: zuerst {first}, dann je {part}",
      link: "So funktioniert das spätere Zahlen",
      close: "Schließen",
      sandbox: "Dies ist eine Sandbox: Hier leiht niemand etwas.",
      questions: [
        ["Wann zahle ich?", "Das wählen Sie an der Kasse: {options}."],
        ["Wer entscheidet, ob ich später zahlen kann?", "Der Anbieter, bei jedem Kauf neu. Sie sehen sein Angebot, bevor Sie etwas bestätigen."],
        ["Was, wenn ich etwas zurückschicke?", "Der Shop meldet es dem Anbieter, und Sie schulden entsprechend weniger."],
      ],
      now: "sofort", after: "in {days} Tagen", instalments: "in {n} Raten",
    },
    ar: {
      mark: "ادفع لاحقًا",
      both: "اشترِ الآن وادفع خلال {days} يومًا، أو على {parts}.",
      parts: "اشترِ الآن وادفع على {parts}.",
      even: "{n} دفعات قيمة كل منها {part}",
      uneven: "{n} دفعات: {first} أولًا، ثم {part} لكل دفعة",
      link: "كيف يعمل الدفع لاحقًا",
      close: "إغلاق",
      sandbox: "هذه بيئة تجريبية: لا أحد يُقرض شيئًا هنا.",
      questions: [
        ["متى أدفع؟", "تختار ذلك عند الدفع: {options}."],
        ["من يقرر ما إذا كان بإمكاني الدفع لاحقًا؟", "مزوّد الخدمة، عند كل عملية شراء. سترى عرضه قبل أن تؤكد أي شيء."],
        ["ماذا لو أعدتُ شيئًا؟", "يُبلغ المتجر مزوّد الخدمة، فينقص ما عليك بالقدر نفسه."],
      ],
      now: "فورًا", after: "خلال {days} يومًا", instalments: "على {n} دفعات",
    },
  };

  const put = (text, values) => text.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
  const list = (values, words) => new Intl.ListFormat(words.tag, { type: "disjunction" }).format(values.map(String));

  /** `language-COUNTRY` (or with `_`) of a language that browsers know and a country of this region; else null. */
  function localeOf(text) {
    const [, language, country] = /^([a-z]{2,3})[-_]([A-Z]{2})$/.exec(text ?? "") ?? [];
    if (language === undefined || !Object.hasOwn(region.currencies, country)) return null;
    const tag = `${language}-${country}`;
    if (Intl.NumberFormat.supportedLocalesOf([tag]).length === 0) return null;
    const known = Object.hasOwn(WORDS, language);
    const words = { ...(known ? WORDS[language] : WORDS.en), tag: known ? tag : `en-${country}`, dir: language === "ar" ? "rtl" : "ltr" };
    return { words, currency: region.currencies[country] };
  }

  /** Minor units; null for anything but a positive whole number of a sane size. */
  const amountOf = (text) => (/^[1-9]\d{0,11}$/.test(text ?? "") ? Number(text) : null);

  /** Equal parts; what does not divide is paid with the first. */
  function partsText(amount, { words, currency }) {
    const money = (minor) => new Intl.NumberFormat(words.tag, { style: "currency", currency }).format(minor / 100);
    const n = region.parts;
    const part = Math.floor(amount / n);
    const first = amount - part * (n - 1);
    return put(first === part ? words.even : words.uneven, { n, part: money(part), first: money(first) });
  }

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function infoDialog({ words }) {
    const options = [words.now, ...(region.days.length > 0 ? [put(words.after, { days: list(region.days, words) })] : []), put(words.instalments, { n: region.parts })];
    const close = element("button", { type: "button", class: "close" }, words.close);
    const questions = words.questions.map(([question, answer]) =>
      element("div", {}, element("dt", {}, question), element("dd", {}, put(answer, { options: list(options, words) }))),
    );
    const title = element("h2", { id: "title", tabindex: "-1", autofocus: "" }, words.link);
    const dialog = element("dialog", { "aria-labelledby": "title", lang: words.tag, dir: words.dir }, title, element("dl", {}, ...questions), element("p", { class: "sandbox" }, words.sandbox), close);
    close.addEventListener("click", () => dialog.close());
    return dialog;
  }

  /** What each key shows, or null when its data make no sense. */
  const PLACEMENTS = {
    product(placement, locale) {
      const amount = amountOf(placement.dataset.purchaseAmount);
      if (amount === null) return null;
      const { words } = locale;
      const parts = partsText(amount, locale);
      const text = region.days.length > 0 ? put(words.both, { days: list(region.days, words), parts }) : put(words.parts, { parts });
      return [element("p", { class: "message" }, element("span", { class: "mark" }, words.mark), " ", text, " ", opener(locale))];
    },
    "info-page": (placement, locale) => [opener(locale)],
  };

  function opener(locale) {
    const button = element("button", { type: "button", class: "link" }, locale.words.link);
    button.addEventListener("click", () => {
      const dialog = infoDialog(locale);
      dialog.addEventListener("close", () => dialog.remove());
      button.getRootNode().append(dialog);
      dialog.showModal();
    });
    return button;
  }

  const sheetOf = (css) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    return sheet;
  };
  const hidden = sheetOf(":host { display: none !important; }");
  const look = sheetOf(`
    :host { display: block; font: 400 14px/1.5 system-ui, sans-serif; }
    .message { margin: 0; }
    .mark { display: inline-block; padding: 0 8px; border: 1px solid; border-radius: 99px; font-size: 12px; font-weight: 700; }
    .link { padding: 4px 0; border: 0; background: none; color: inherit; font: inherit; text-decoration: underline; text-underline-offset: 3px; cursor: pointer; }
    :focus-visible { outline: 2px solid; outline-offset: 2px; }
    h2:focus { outline: none; }
    dialog { box-sizing: border-box; inline-size: min(480px, calc(100vw - 32px)); padding: 24px; border: 1px solid; border-radius: 14px; color: canvastext; background: canvas; color-scheme: inherit; text-align: start; }
    dialog::backdrop { background: rgb(0 0 0 / 45%); }
    h2 { margin: 0; font-size: 20px; line-height: 1.3; }
    dl { margin: 16px 0; }
    dt { font-weight: 700; }
    dd { margin: 0 0 12px; }
    .sandbox { margin: 0 0 16px; padding: 8px 12px; border: 1px solid; border-radius: 8px; }
    .close { min-block-size: 44px; padding: 0 20px; border: 1px solid; border-radius: 99px; background: none; color: inherit; font: inherit; font-weight: 600; cursor: pointer; }
  `);

  const clientId = script.dataset.clientId ?? "";
  // The sandbox knows no merchants: an id of the right form is somebody's, unless it says itself that it is another region's.
  const [, foreign = name] = /^sandbox-(eu|na|oc)(?:-|$)/.exec(clientId) ?? [];
  const mayShow = region !== null && /^[\w.-]{1,128}$/.test(clientId) && foreign === name;

  customElements.define(TAG, class extends HTMLElement {
    static observedAttributes = ["data-key", "data-locale", "data-purchase-amount"];
    #root = this.attachShadow({ mode: "open" });

    connectedCallback() {
      this.draw();
    }

    attributeChangedCallback() {
      if (this.isConnected) this.draw();
    }

    draw() {
      const key = this.dataset.key ?? "";
      const locale = mayShow && Object.hasOwn(PLACEMENTS, key) ? localeOf(this.dataset.locale) : null;
      const content = locale === null ? null : PLACEMENTS[key](this, locale);
      this.#root.adoptedStyleSheets = [content === null ? hidden : look];
      this.#root.replaceChildren(...(content === null ? [] : [element("div", { lang: locale.words.tag, dir: locale.words.dir }, ...content)]));
    }
  });
})();
