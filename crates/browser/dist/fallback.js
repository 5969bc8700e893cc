// Dropin: fallback.js. Built from crates/browser/src by `npm run build`; do not edit.
// virtual:fallback
var TEXTS = { "ar": ["تعذّر تحميل نموذج الدفع", "تحقق من اتصالك ثم أعد تحميل الصفحة، وإن تكرر ذلك فأبلغ المتجر."], "bg": ["Формулярът за плащане не се зареди", "Проверете връзката си и заредете тази страница отново. Ако се повтори, моля, уведомете магазина."], "cs": ["Platební formulář se nenačetl", "Zkontrolujte připojení a načtěte tuto stránku znovu. Pokud se to bude opakovat, dejte prosím vědět obchodu."], "da": ["Betalingsformularen kunne ikke indlæses", "Tjek din forbindelse, og genindlæs siden. Giv butikken besked, hvis det sker igen."], "de": ["Das Zahlungsformular konnte nicht geladen werden", "Prüfen Sie Ihre Verbindung und laden Sie diese Seite neu. Wenn es wieder geschieht, sagen Sie bitte dem Shop Bescheid."], "el": ["Η φόρμα πληρωμής δεν φορτώθηκε", "Ελέγξτε τη σύνδεσή σας και φορτώστε ξανά αυτή τη σελίδα. Αν συμβεί πάλι, ενημερώστε το κατάστημα."], "en": ["The payment form did not load", "Check your connection and load this page again. If it happens again, please tell the shop."], "hr": ["Obrazac za plaćanje nije se učitao", "Provjerite vezu i ponovno učitajte ovu stranicu. Ako se ponovi, obavijestite trgovinu."], "hu": ["A fizetési űrlap nem töltődött be", "Ellenőrizze a kapcsolatot, és töltse be újra ezt az oldalt. Ha ismét előfordul, kérjük, szóljon a kereskedőnek."], "nb": ["Betalingsskjemaet kunne ikke lastes inn", "Sjekk forbindelsen, og last inn siden på nytt. Si fra til butikken hvis det skjer igjen."], "pl": ["Formularz płatności się nie wczytał", "Sprawdź połączenie i wczytaj tę stronę ponownie. Jeśli to się powtórzy, powiadom sklep."], "pt-BR": ["O formulário de pagamento não carregou", "Verifique sua conexão e carregue esta página novamente. Se acontecer de novo, avise a loja."], "ro": ["Formularul de plată nu s-a încărcat", "Verificați conexiunea și reîncărcați această pagină. Dacă se întâmplă din nou, vă rugăm să anunțați magazinul."], "ru": ["Форма оплаты не загрузилась", "Проверьте подключение и загрузите эту страницу ещё раз. Если это повторится, сообщите магазину."], "sk": ["Platobný formulár sa nenačítal", "Skontrolujte pripojenie a načítajte túto stránku znova. Ak sa to zopakuje, dajte, prosím, vedieť obchodu."], "sl": ["Plačilni obrazec se ni naložil", "Preverite povezavo in znova naložite to stran. Če se to ponovi, obvestite trgovino."] };
// languages.json
var rightToLeft = ["ar", "he"];
var aliases = {
	in: "id",
	iw: "he",
	mo: "ro",
	nn: "nb",
	no: "nb",
	pt: "pt-PT",
	zh: "zh-Hans",
	"zh-HK": "zh-Hant",
	"zh-MO": "zh-Hant",
	"zh-TW": "zh-Hant"
};
var ALIASES = aliases;
var isLetters = (part, least, most = least) => part !== void 0 && part.length >= least && part.length <= most && /^[a-z]+$/i.test(part);
function choose(request, tags) {
	const [spoken, second, third] = request.split(/[-_]/);
	if (!isLetters(spoken, 2, 3)) return null;
	const language = spoken.toLowerCase();
	const script = isLetters(second, 4) ? second : void 0;
	const land = script === void 0 ? second : third;
	const country = isLetters(land, 2) ? land.toUpperCase() : void 0;
	const wanted = [
		...script === void 0 ? [] : [`${language}-${script.charAt(0).toUpperCase()}${script.slice(1).toLowerCase()}`],
		...country === void 0 || script !== void 0 ? [] : [`${language}-${country}`],
		language
	];
	const tag = wanted.map((one) => ALIASES[one] ?? one).find((one) => tags.includes(one));
	if (tag === void 0) return null;
	const format = country === void 0 ? tag : `${tag.replace(/-[A-Z]{2}$/, "")}-${country}`;
	return { tag, format, direction: rightToLeft.includes(tag) ? "rtl" : "ltr" };
}
function resolveLocale(requests, tags) {
	for (const request of requests) {
		const chosen = choose(request ?? "", tags);
		if (chosen !== null) return chosen;
	}
	return { tag: "en", format: "en", direction: "ltr" };
}
function wordsIn(languages) {
	const { tag, format: lang, direction: dir } = resolveLocale(languages, Object.keys(TEXTS));
	const [title = "", text = ""] = TEXTS[tag] ?? [];
	return { lang, dir, title, text };
}
export {
	wordsIn
};
