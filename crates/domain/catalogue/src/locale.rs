/// How a method is called in other languages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Name {
    /// The same everywhere.
    Brand,
    /// By language (ISO 639); English is the method's own name.
    Translated(&'static [(&'static str, &'static str)]),
}

/// A display language of the form `language_COUNTRY`, such as `de_AT` (contract, drop-in's locale).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locale {
    language: String,
    country: String,
}

impl Locale {
    /// Reads two or three lower-case letters, an underscore and two upper-case letters; `None` for anything else. Whether there is such a language
    /// or country is not looked up.
    pub fn parse(text: &str) -> Option<Self> {
        let (language, country) = text.split_once('_')?;
        let lower = (2..=3).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_lowercase());
        let upper = country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase());
        (lower && upper).then(|| Self { language: language.to_owned(), country: country.to_owned() })
    }

    /// The language, ISO 639.
    pub fn language(&self) -> &str {
        &self.language
    }

    /// The country, two upper-case letters.
    pub fn country(&self) -> &str {
        &self.country
    }
}

/// A transfer from the shopper's bank.
pub(crate) const BANK_TRANSFER: Name = Name::Translated(&[
    ("en", "Bank transfer"),
    ("ar", "تحويل بنكي"),
    ("bg", "Банков превод"),
    ("cs", "Bankovní převod"),
    ("da", "Bankoverførsel"),
    ("de", "Überweisung"),
    ("el", "Τραπεζική μεταφορά"),
    ("es", "Transferencia bancaria"),
    ("et", "Pangaülekanne"),
    ("fi", "Tilisiirto"),
    ("fr", "Virement bancaire"),
    ("he", "העברה בנקאית"),
    ("hr", "Bankovni prijenos"),
    ("hu", "Banki átutalás"),
    ("id", "Transfer bank"),
    ("it", "Bonifico bancario"),
    ("ja", "銀行振込"),
    ("ko", "계좌이체"),
    ("lt", "Banko pavedimas"),
    ("lv", "Bankas pārskaitījums"),
    ("ms", "Pindahan bank"),
    ("nb", "Bankoverføring"),
    ("nl", "Bankoverschrijving"),
    ("no", "Bankoverføring"),
    ("pl", "Przelew bankowy"),
    ("pt", "Transferência bancária"),
    ("ro", "Transfer bancar"),
    ("ru", "Банковский перевод"),
    ("sk", "Bankový prevod"),
    ("sl", "Bančno nakazilo"),
    ("sv", "Banköverföring"),
    ("th", "โอนเงินผ่านธนาคาร"),
    ("tr", "Banka havalesi"),
    ("uk", "Банківський переказ"),
    ("vi", "Chuyển khoản ngân hàng"),
    ("zh", "银行转账"),
]);

/// Paying later, in the languages of the countries where that is offered.
pub(crate) const PAY_LATER: Name = Name::Translated(&[
    ("en", "Pay later"),
    ("da", "Betal senere"),
    ("de", "Später bezahlen"),
    ("es", "Pagar más tarde"),
    ("fi", "Maksa myöhemmin"),
    ("fr", "Payer plus tard"),
    ("it", "Paga più tardi"),
    ("nb", "Betal senere"),
    ("nl", "Achteraf betalen"),
    ("no", "Betal senere"),
    ("sv", "Betala senare"),
]);

/// A debit of the shopper's account in the single euro payments area.
pub(crate) const DIRECT_DEBIT: Name = Name::Translated(&[
    ("en", "SEPA direct debit"),
    ("de", "SEPA-Lastschrift"),
    ("es", "Adeudo directo SEPA"),
    ("fr", "Prélèvement SEPA"),
    ("it", "Addebito diretto SEPA"),
    ("nl", "SEPA-incasso"),
    ("pt", "Débito direto SEPA"),
]);
