// Dropin: fallback.js. Built from crates/browser/src by `npm run build`; do not edit.
// virtual:fallback
var TEXTS = { "ar": ["تعذّر تحميل نموذج الدفع", "تحقق من اتصالك ثم أعد تحميل الصفحة، وإن تكرر ذلك فأبلغ المتجر."], "bg": ["Формулярът за плащане не се зареди", "Проверете връзката си и заредете тази страница отново. Ако се повтори, моля, уведомете магазина."], "cs": ["Platební formulář se nenačetl", "Zkontrolujte připojení a načtěte tuto stránku znovu. Pokud se to bude opakovat, dejte prosím vědět obchodu."], "da": ["Betalingsformularen kunne ikke indlæses", "Tjek din forbindelse, og genindlæs siden. Giv butikken besked, hvis det sker igen."], "de": ["Das Zahlungsformular konnte nicht geladen werden", "Prüfen Sie Ihre Verbindung und laden Sie diese Seite neu. Wenn es wieder geschieht, sagen Sie bitte dem Shop Bescheid."], "el": ["Η φόρμα πληρωμής δεν φορτώθηκε", "Ελέγξτε τη σύνδεσή σας και φορτώστε ξανά αυτή τη σελίδα. Αν συμβεί πάλι, ενημερώστε το κατάστημα."], "en": ["The payment form did not load", "Check your connection and load this page again. If it happens again, please tell the shop."], "es": ["No se ha cargado el formulario de pago", "Comprueba tu conexión y vuelve a cargar esta página. Si vuelve a ocurrir, avisa a la tienda."], "et": ["Maksevormi ei saanud laadida", "Kontrolli ühendust ja laadi see leht uuesti. Kui see kordub, anna e-poele teada."], "fi": ["Maksulomake ei latautunut", "Tarkista yhteytesi ja lataa tämä sivu uudelleen. Jos tämä toistuu, ilmoita siitä kaupalle."], "fr": ["Le formulaire de paiement ne s’est pas chargé", "Vérifiez votre connexion et rechargez cette page. Si cela se reproduit, veuillez en informer le marchand."], "he": ["טופס התשלום לא נטען", "יש לבדוק את החיבור לאינטרנט ולטעון את הדף מחדש. אם זה קורה שוב, נא לעדכן את החנות."], "hr": ["Obrazac za plaćanje nije se učitao", "Provjerite vezu i ponovno učitajte ovu stranicu. Ako se ponovi, obavijestite trgovinu."], "hu": ["A fizetési űrlap nem töltődött be", "Ellenőrizze a kapcsolatot, és töltse be újra ezt az oldalt. Ha ismét előfordul, kérjük, szóljon a kereskedőnek."], "id": ["Formulir pembayaran gagal dimuat", "Periksa koneksi Anda lalu muat ulang halaman ini. Jika terjadi lagi, mohon beri tahu toko."], "it": ["Il modulo di pagamento non si è caricato", "Controlla la connessione e ricarica questa pagina. Se succede di nuovo, avvisa il negozio."], "ja": ["お支払いフォームを読み込めませんでした", "接続を確認して、このページを再読み込みしてください。それでも表示されない場合は、ショップにご連絡ください。"], "ko": ["결제 양식을 불러오지 못했습니다", "인터넷 연결을 확인하고 이 페이지를 새로고침해 주세요. 문제가 계속되면 쇼핑몰에 알려 주세요."], "lt": ["Nepavyko įkelti mokėjimo formos", "Patikrinkite ryšį ir įkelkite šį puslapį iš naujo. Jei tai pasikartos, praneškite parduotuvei."], "lv": ["Neizdevās ielādēt maksājuma veidlapu", "Pārbaudiet savienojumu un ielādējiet šo lapu vēlreiz. Ja tas atkārtojas, lūdzu, paziņojiet veikalam."], "ms": ["Borang pembayaran tidak dapat dimuatkan", "Semak sambungan anda dan muatkan semula halaman ini. Jika berlaku lagi, sila maklumkan kepada kedai."], "nb": ["Betalingsskjemaet kunne ikke lastes inn", "Sjekk forbindelsen, og last inn siden på nytt. Si fra til butikken hvis det skjer igjen."], "nl": ["Het betaalformulier kon niet worden geladen", "Controleer je verbinding en laad deze pagina opnieuw. Gebeurt het nog een keer, laat het dan de webshop weten."], "pl": ["Formularz płatności się nie wczytał", "Sprawdź połączenie i wczytaj tę stronę ponownie. Jeśli to się powtórzy, powiadom sklep."], "pt-BR": ["O formulário de pagamento não carregou", "Verifique sua conexão e carregue esta página novamente. Se acontecer de novo, avise a loja."], "pt-PT": ["O formulário de pagamento não carregou", "Verifique a sua ligação e volte a carregar esta página. Se acontecer novamente, avise a loja."], "ro": ["Formularul de plată nu s-a încărcat", "Verificați conexiunea și reîncărcați această pagină. Dacă se întâmplă din nou, vă rugăm să anunțați magazinul."], "ru": ["Форма оплаты не загрузилась", "Проверьте подключение и загрузите эту страницу ещё раз. Если это повторится, сообщите магазину."], "sk": ["Platobný formulár sa nenačítal", "Skontrolujte pripojenie a načítajte túto stránku znova. Ak sa to zopakuje, dajte, prosím, vedieť obchodu."], "sl": ["Plačilni obrazec se ni naložil", "Preverite povezavo in znova naložite to stran. Če se to ponovi, obvestite trgovino."], "sv": ["Betalningsformuläret kunde inte läsas in", "Kontrollera anslutningen och läs in sidan igen. Meddela butiken om det händer igen."], "th": ["โหลดแบบฟอร์มชำระเงินไม่สำเร็จ", "โปรดตรวจสอบการเชื่อมต่อและโหลดหน้านี้ใหม่ หากเกิดขึ้นอีก โปรดแจ้งร้านค้า"], "tr": ["Ödeme formu yüklenemedi", "Bağlantınızı kontrol edip bu sayfayı yeniden yükleyin. Tekrar olursa lütfen mağazaya bildirin."], "vi": ["Không tải được biểu mẫu thanh toán", "Vui lòng kiểm tra kết nối và tải lại trang này. Nếu lỗi lặp lại, vui lòng báo cho cửa hàng."], "zh-Hans": ["付款表单未能加载", "请检查网络连接并重新加载此页面。如果问题再次出现，请告知商家。"], "zh-Hant": ["無法載入付款表單", "請檢查網路連線並重新載入此頁面。如果問題再次發生，請通知商店。"] };
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
