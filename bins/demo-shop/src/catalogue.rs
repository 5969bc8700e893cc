//! What the shop sells, and for how much. The browser names things and quantities; prices come from here and nowhere else.

use serde::Serialize;
use serde_json::value::RawValue;

/// Most pieces of one product in one purchase.
pub(super) const MAX_QUANTITY: u32 = 20;
/// The currency of the price list, and of the shop's account with the payment service. Every other one is converted by the service's rates.
pub(super) const BASE_CURRENCY: &str = "EUR";
/// Currencies whose smallest unit is no hundredth, with its decimals (ISO 4217).
pub(super) const MINOR_UNIT_EXCEPTIONS: [(&str, u32); 8] =
    [("JPY", 0), ("KRW", 0), ("CLP", 0), ("ISK", 0), ("VND", 0), ("KWD", 3), ("BHD", 3), ("OMR", 3)];

/// A currency that a shopper pays in. Amounts are whole numbers of its smallest unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Currency {
    /// ISO 4217 code.
    pub(super) code: String,
    /// Decimals of its smallest unit: 2 for cents, 0 for yen, 3 for fils.
    pub(super) minor_units: u32,
}

/// A product of the shop.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Product {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    blurb: &'static str,
    /// In cents of [`BASE_CURRENCY`]; of a subscription, for each month.
    pub(super) price: u64,
    /// Whether it is a subscription: paid at once, and charged again each month until it is ended.
    pub(super) monthly: bool,
}

/// Everything that the shop sells.
pub(super) const PRODUCTS: [Product; 7] = [
    product("mug", "Tidepool mug", "Stoneware, glazed like a rock pool. Holds a long coffee.", 2400),
    product("lamp", "Low lamp", "A brass lamp for the last hour of the day.", 12_900),
    product("notebook", "Field notebook", "Dot grid, sewn to lie flat, 144 pages of no hurry.", 1450),
    product("plant", "Window fern", "Asks for north light and a little water on Sundays.", 3200),
    product("tea", "Morning tea", "Loose Assam and a little smoke. One hundred grams.", 1190),
    product("throw", "Linen throw", "Washed linen, heavy enough for an open window.", 8900),
    monthly(product("teabox", "Tea by post", "A hundred grams of another tea each month, until you end it.", 1690)),
];

/// What sending a parcel costs, in cents of [`BASE_CURRENCY`].
pub(super) const SHIPPING: u64 = 490;

const fn product(id: &'static str, name: &'static str, blurb: &'static str, price: u64) -> Product {
    Product { id, name, blurb, price, monthly: false }
}

const fn monthly(product: Product) -> Product {
    Product { monthly: true, ..product }
}

impl Product {
    /// The product with this id, if the shop has it.
    pub(super) fn find(id: &str) -> Option<&'static Self> {
        PRODUCTS.iter().find(|product| product.id == id)
    }

    /// Whether this is the name of a subscription.
    pub(super) fn is_monthly(name: &str) -> bool {
        PRODUCTS.iter().any(|product| product.monthly && product.name == name)
    }
}

impl Currency {
    /// The currency with this code; `None` where that is no ISO 4217 code. Whether the shop takes it, its rates say.
    pub(super) fn parse(code: &str) -> Option<Self> {
        let is_code = code.len() == 3 && code.bytes().all(|letter| letter.is_ascii_uppercase());
        let exception = MINOR_UNIT_EXCEPTIONS.iter().find(|(exception, _)| *exception == code);
        is_code
            .then(|| Self { code: code.to_owned(), minor_units: exception.map_or(2, |(_, minor_units)| *minor_units) })
    }

    /// The amount as a JSON number with this currency's decimals: text from end to end, never a float.
    pub(super) fn number(&self, amount: u64) -> Box<RawValue> {
        RawValue::from_string(self.text(amount)).expect("digits with one point are a JSON number")
    }

    /// The amount as text with this currency's decimals, e.g. `29.90`.
    fn text(&self, amount: u64) -> String {
        let unit = 10_u64.pow(self.minor_units);
        match self.minor_units {
            0 => amount.to_string(),
            decimals => format!("{}.{:0width$}", amount / unit, amount % unit, width = decimals as usize),
        }
    }
}
