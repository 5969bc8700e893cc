use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::builder::is_country;

/// How a method is called in other languages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    /// The same everywhere.
    Brand,
    /// By language (ISO 639); English is the method's own name.
    Translated(Vec<(Cow<'static, str>, Cow<'static, str>)>),
}

impl Name {
    /// With the translations of the table.
    pub(crate) fn of(names: &'static [(&'static str, &'static str)]) -> Self {
        Self::Translated(names.iter().map(|(language, name)| ((*language).into(), (*name).into())).collect())
    }
}

/// Two or three lower-case letters, as ISO 639 codes have; whether there is such a language is not looked up.
pub(crate) fn is_language(code: &str) -> bool {
    (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// A display language of the form `language_COUNTRY`, such as `de_AT` (docs/SPECIFICATION.md#drop-in-init).
///
/// ```
/// use dropin_catalogue::Locale;
///
/// let locale: Locale = "de_AT".parse()?;
/// assert_eq!((locale.language(), locale.country(), locale.to_string().as_str()), ("de", "AT", "de_AT"));
/// # Ok::<(), dropin_catalogue::InvalidLocale>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locale {
    language: String,
    country: String,
}

/// The text is no [`Locale`].
///
/// ```
/// use dropin_catalogue::Locale;
///
/// let refused = "de-AT".parse::<Locale>().unwrap_err();
/// assert_eq!(refused.to_string(), "is no language and country: write them as de_AT");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InvalidLocale;

impl fmt::Display for InvalidLocale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is no language and country: write them as de_AT")
    }
}

impl std::error::Error for InvalidLocale {}

impl Locale {
    /// Reads two or three lower-case letters, an underscore and two upper-case letters; `None` for anything else. Whether there is such a language
    /// or country is not looked up.
    ///
    /// ```
    /// use dropin_catalogue::Locale;
    ///
    /// assert!(Locale::parse("fil_PH").is_some() && Locale::parse("fil_ph").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (language, country) = text.split_once('_')?;
        let fits = is_language(language) && is_country(country);
        fits.then(|| Self { language: language.to_owned(), country: country.to_owned() })
    }

    /// The language, ISO 639.
    ///
    /// ```
    /// # use dropin_catalogue::Locale;
    /// assert!(Locale::parse("pt_BR").is_some_and(|locale| locale.language() == "pt"));
    /// ```
    pub fn language(&self) -> &str {
        &self.language
    }

    /// The country, two upper-case letters.
    ///
    /// ```
    /// # use dropin_catalogue::Locale;
    /// assert!(Locale::parse("pt_BR").is_some_and(|locale| locale.country() == "BR"));
    /// ```
    pub fn country(&self) -> &str {
        &self.country
    }
}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}_{}", self.language, self.country))
    }
}

impl FromStr for Locale {
    type Err = InvalidLocale;

    /// As [`Locale::parse`].
    fn from_str(text: &str) -> Result<Self, InvalidLocale> {
        Self::parse(text).ok_or(InvalidLocale)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Locale);

/// A transfer from the shopper's bank.
pub(crate) const BANK_TRANSFER: &[(&str, &str)] = &[
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
];

/// Paying later, in the languages of the countries where that is offered.
pub(crate) const PAY_LATER: &[(&str, &str)] = &[
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
];

/// A debit of the shopper's account in the single euro payments area.
pub(crate) const DIRECT_DEBIT: &[(&str, &str)] = &[
    ("en", "SEPA direct debit"),
    ("de", "SEPA-Lastschrift"),
    ("es", "Adeudo directo SEPA"),
    ("fr", "Prélèvement SEPA"),
    ("it", "Addebito diretto SEPA"),
    ("nl", "SEPA-incasso"),
    ("pt", "Débito direto SEPA"),
];
