use std::fmt;
use std::str::FromStr;

/// The text, or the currency of ISO 4217, is none of [`Currency`].
///
/// ```
/// use dropin_money::{Currency, UnknownCurrency};
///
/// assert_eq!("usd".parse::<Currency>(), Err(UnknownCurrency));
/// assert_eq!(UnknownCurrency.to_string(), "is not one of the 60 currencies of Dropin, such as USD");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("is not one of the {} currencies of Dropin, such as USD", Currency::ALL.len())]
pub struct UnknownCurrency;

/// Writes the enumeration, its codes and its exponents from one table.
macro_rules! currencies {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $exponent:literal;)+) => {
        /// One of the 60 currencies that Dropin takes (docs/SPECIFICATION.md#currencies), named by its ISO 4217 code.
        ///
        /// All other currencies of ISO 4217 are an [`IsoCurrency`](crate::IsoCurrency). The text is the code in upper case.
        ///
        /// ```
        /// use dropin_money::Currency;
        ///
        /// assert_eq!("JPY".parse(), Ok(Currency::Jpy));
        /// assert_eq!(format!("[{:<5}]", Currency::Jpy), "[JPY  ]");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Currency {
            $($(#[$doc])* $name,)+
        }

        impl Currency {
            /// Every currency, in the order of docs/SPECIFICATION.md#currencies: the most used first.
            ///
            /// ```
            /// # use dropin_money::Currency;
            /// assert_eq!(Currency::ALL[..2], [Currency::Usd, Currency::Eur]);
            /// ```
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The ISO 4217 alphabetic code: the spelling in requests, answers, databases and files.
            ///
            /// ```
            /// # use dropin_money::Currency;
            /// assert_eq!(Currency::Usd.code(), "USD");
            /// ```
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// How many decimals the minor unit has (ISO 4217 table A.1): JPY 0, USD 2, KWD 3.
            ///
            /// ```
            /// # use dropin_money::Currency;
            /// assert_eq!([Currency::Jpy, Currency::Usd, Currency::Kwd].map(Currency::exponent), [0, 2, 3]);
            /// ```
            pub const fn exponent(self) -> u8 {
                match self { $(Self::$name => $exponent,)+ }
            }
        }
    };
}

currencies! {
    /// US dollar.
    Usd = "USD", 2;
    /// Euro.
    Eur = "EUR", 2;
    /// Canadian dollar.
    Cad = "CAD", 2;
    /// Pound sterling.
    Gbp = "GBP", 2;
    /// Australian dollar.
    Aud = "AUD", 2;
    /// Brazilian real.
    Brl = "BRL", 2;
    /// Yen.
    Jpy = "JPY", 0;
    /// Mexican peso.
    Mxn = "MXN", 2;
    /// Swiss franc.
    Chf = "CHF", 2;
    /// Singapore dollar.
    Sgd = "SGD", 2;
    /// New Israeli sheqel.
    Ils = "ILS", 2;
    /// New Zealand dollar.
    Nzd = "NZD", 2;
    /// Hong Kong dollar.
    Hkd = "HKD", 2;
    /// UAE dirham.
    Aed = "AED", 2;
    /// Swedish krona.
    Sek = "SEK", 2;
    /// Saudi riyal.
    Sar = "SAR", 2;
    /// Danish krone.
    Dkk = "DKK", 2;
    /// Norwegian krone.
    Nok = "NOK", 2;
    /// Russian ruble.
    Rub = "RUB", 2;
    /// Malaysian ringgit.
    Myr = "MYR", 2;
    /// Philippine peso.
    Php = "PHP", 2;
    /// Baht.
    Thb = "THB", 2;
    /// Won.
    Krw = "KRW", 0;
    /// Indian rupee.
    Inr = "INR", 2;
    /// Chilean peso.
    Clp = "CLP", 0;
    /// Zloty.
    Pln = "PLN", 2;
    /// New Taiwan dollar.
    Twd = "TWD", 2;
    /// Turkish lira.
    Try = "TRY", 2;
    /// Czech koruna.
    Czk = "CZK", 2;
    /// Kuwaiti dinar.
    Kwd = "KWD", 3;
    /// Qatari rial.
    Qar = "QAR", 2;
    /// Rand.
    Zar = "ZAR", 2;
    /// Forint.
    Huf = "HUF", 2;
    /// Romanian leu.
    Ron = "RON", 2;
    /// Sol.
    Pen = "PEN", 2;
    /// Rupiah.
    Idr = "IDR", 2;
    /// Yuan renminbi.
    Cny = "CNY", 2;
    /// Egyptian pound.
    Egp = "EGP", 2;
    /// Argentine peso.
    Ars = "ARS", 2;
    /// Colombian peso.
    Cop = "COP", 2;
    /// Iceland krona.
    Isk = "ISK", 0;
    /// Hryvnia.
    Uah = "UAH", 2;
    /// Kuna (withdrawn 2023).
    Hrk = "HRK", 2;
    /// Brunei dollar.
    Bnd = "BND", 2;
    /// Bahraini dinar.
    Bhd = "BHD", 3;
    /// Costa Rican colon.
    Crc = "CRC", 2;
    /// Pakistan rupee.
    Pkr = "PKR", 2;
    /// Bulgarian lev (withdrawn 2026).
    Bgn = "BGN", 2;
    /// Dong.
    Vnd = "VND", 0;
    /// Sri Lanka rupee.
    Lkr = "LKR", 2;
    /// Pataca.
    Mop = "MOP", 2;
    /// Moroccan dirham.
    Mad = "MAD", 2;
    /// Quetzal.
    Gtq = "GTQ", 2;
    /// Bermudian dollar.
    Bmd = "BMD", 2;
    /// Rial Omani.
    Omr = "OMR", 3;
    /// Serbian dinar.
    Rsd = "RSD", 2;
    /// Dominican peso.
    Dop = "DOP", 2;
    /// Balboa.
    Pab = "PAB", 2;
    /// Lebanese pound.
    Lbp = "LBP", 2;
    /// Trinidad and Tobago dollar.
    Ttd = "TTD", 2;
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl FromStr for Currency {
    type Err = UnknownCurrency;

    /// Codes in upper case only.
    fn from_str(code: &str) -> Result<Self, UnknownCurrency> {
        Self::ALL.iter().copied().find(|currency| currency.code() == code).ok_or(UnknownCurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_currencies_parse_back() {
        assert_eq!(Currency::ALL.len(), 60);
        for currency in Currency::ALL {
            assert_eq!(currency.code().parse(), Ok(*currency));
        }
        assert_eq!("usd".parse::<Currency>(), Err(UnknownCurrency));
        assert_eq!("XXX".parse::<Currency>(), Err(UnknownCurrency));
    }

    #[test]
    fn exponents_follow_iso_4217() {
        let with =
            |exponent| Currency::ALL.iter().filter(|c| c.exponent() == exponent).map(|c| c.code()).collect::<Vec<_>>();
        assert_eq!(with(0), ["JPY", "KRW", "CLP", "ISK", "VND"]);
        assert_eq!(with(3), ["KWD", "BHD", "OMR"]);
        assert_eq!(with(2).len(), 52);
    }
}
