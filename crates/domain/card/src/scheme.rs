/// A card scheme of the catalogue; its code is also the id of the payment method (decisions.md section 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// Visa.
    Visa,
    /// Mastercard.
    Mastercard,
    /// American Express.
    AmericanExpress,
    /// Discover.
    Discover,
    /// JCB.
    Jcb,
    /// Diners Club.
    Diners,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 6] =
        [Self::Visa, Self::Mastercard, Self::AmericanExpress, Self::Discover, Self::Jcb, Self::Diners];

    /// The payment method's id in the catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Visa => "VISA",
            Self::Mastercard => "MC",
            Self::AmericanExpress => "AMEX",
            Self::Discover => "DISC",
            Self::Jcb => "JCB",
            Self::Diners => "DINERS",
        }
    }

    /// Reads the id back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.as_str() == code)
    }
}
