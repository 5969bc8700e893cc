//! What the shop sells, and for how much. The browser names things and quantities; prices come from here and nowhere else.

use serde::Serialize;
use serde_json::value::RawValue;

/// Most pieces of one thing in one purchase.
pub(super) const MAX_PIECES: u32 = 20;

/// A currency the shop prices things in. Amounts are whole numbers of its smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Currency {
    /// ISO 4217 code.
    pub(super) code: &'static str,
    /// Decimals of its smallest unit: 2 for cents, 0 for yen, 3 for fils.
    pub(super) minor_units: u32,
    #[serde(skip)]
    column: usize,
}

/// In the order of the price columns below.
pub(super) const CURRENCIES: [Currency; 5] = [
    Currency { code: "EUR", minor_units: 2, column: 0 },
    Currency { code: "USD", minor_units: 2, column: 1 },
    Currency { code: "GBP", minor_units: 2, column: 2 },
    Currency { code: "JPY", minor_units: 0, column: 3 },
    Currency { code: "KWD", minor_units: 3, column: 4 },
];

/// One thing on the shelf.
#[derive(Debug)]
pub(super) struct Thing {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) blurb: &'static str,
    prices: [u64; CURRENCIES.len()],
}

/// The shelf.
pub(super) const THINGS: [Thing; 6] = [
    thing(
        "mug",
        "Tidepool mug",
        "Stoneware, glazed like a rock pool. Holds a long coffee.",
        [2400, 2600, 2100, 3900, 8_250],
    ),
    thing("lamp", "Low lamp", "A brass lamp for the last hour of the day.", [12_900, 13_900, 11_200, 21_000, 43_500]),
    thing(
        "notebook",
        "Field notebook",
        "Dot grid, sewn to lie flat, 144 pages of no hurry.",
        [1450, 1550, 1250, 2400, 4_900],
    ),
    thing(
        "plant",
        "Window fern",
        "Asks for north light and a little water on Sundays.",
        [3200, 3400, 2800, 5200, 10_750],
    ),
    thing("tea", "Morning tea", "Loose Assam and a little smoke. One hundred grams.", [1190, 1290, 990, 1950, 3_950]),
    thing("throw", "Linen throw", "Washed linen, heavy enough for an open window.", [8900, 9600, 7700, 14_500, 29_900]),
];

const SHIPPING: [u64; CURRENCIES.len()] = [490, 590, 450, 800, 1_500];

const fn thing(id: &'static str, name: &'static str, blurb: &'static str, prices: [u64; CURRENCIES.len()]) -> Thing {
    Thing { id, name, blurb, prices }
}

impl Thing {
    /// The thing with this id, if the shop has it.
    pub(super) fn find(id: &str) -> Option<&'static Self> {
        THINGS.iter().find(|thing| thing.id == id)
    }

    /// Price of one piece, in the currency's smallest unit.
    pub(super) fn price(&self, currency: Currency) -> u64 {
        self.prices[currency.column]
    }
}

impl Currency {
    /// The currency with this code, if the shop prices things in it.
    pub(super) fn find(code: &str) -> Option<Self> {
        CURRENCIES.into_iter().find(|currency| currency.code == code)
    }

    /// What sending a parcel costs, in the smallest unit.
    pub(super) fn shipping(self) -> u64 {
        SHIPPING[self.column]
    }

    /// The amount as a JSON number with this currency's decimals: text from end to end, never a float.
    pub(super) fn number(self, amount: u64) -> Box<RawValue> {
        RawValue::from_string(self.text(amount)).expect("digits with one point are a JSON number")
    }

    /// The amount as text with this currency's decimals, e.g. `29.90`.
    pub(super) fn text(self, amount: u64) -> String {
        let unit = 10_u64.pow(self.minor_units);
        match self.minor_units {
            0 => amount.to_string(),
            decimals => format!("{}.{:0width$}", amount / unit, amount % unit, width = decimals as usize),
        }
    }
}
