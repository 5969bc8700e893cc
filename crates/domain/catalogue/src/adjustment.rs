use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use dropin_money::Currency;

use crate::builder::{InvalidMethod, is_country, is_id, limited_twice};
use crate::method::{Method, SalesChannel};
use crate::range::Range;

/// What is otherwise about one method, as a file, a form or a database says it; `None` leaves it as it is. [`Adjustment::new`] checks it.
///
/// ```
/// use dropin_catalogue::AdjustmentParts;
///
/// let off = AdjustmentParts { offered: Some(false), ..AdjustmentParts::default() };
/// assert_eq!(off.countries, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct AdjustmentParts {
    /// Whether it is offered at all.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub offered: Option<bool>,
    /// Billing countries, ISO 3166-1 alpha-2.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub countries: Option<Vec<String>>,
    /// Currencies.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub currencies: Option<Vec<Currency>>,
    /// How much may be paid, in the currencies that are named; the others keep their limits.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub amounts: Option<Vec<Range>>,
    /// Where it can be paid with.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub channels: Option<Vec<SalesChannel>>,
    /// Whether the merchant may charge again later without the shopper.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub recurring: Option<bool>,
    /// Whether an authorization waits for a capture.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub capture_later: Option<bool>,
    /// Whether accounts of a sandbox may use it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub sandbox: Option<bool>,
}

/// What is otherwise about one method than the method itself says.
///
/// A deployment's takes the place of what the method says. A merchant's narrows what is left after that: what it lists is what remains. The only
/// thing that a merchant's can widen is whether the method is offered, where its word counts before the deployment's.
///
/// No list in it is empty, each country is two upper-case letters, and no currency has two limits. Its parts are read as fields of
/// [`AdjustmentParts`].
///
/// ```
/// use dropin_catalogue::{Adjustment, AdjustmentParts};
///
/// let dutch = AdjustmentParts { countries: Some(vec!["NL".to_owned()]), ..AdjustmentParts::default() };
/// let adjustment = Adjustment::new(dutch)?;
/// assert_eq!((adjustment.countries.as_deref(), adjustment.offered), (Some(&["NL".to_owned()][..]), None));
/// # Ok::<(), dropin_catalogue::InvalidAdjustment>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Adjustment(AdjustmentParts);

/// Why there is no such [`Adjustment`].
///
/// ```
/// use dropin_catalogue::{Adjustment, AdjustmentParts, InvalidAdjustment};
///
/// let nowhere = AdjustmentParts { countries: Some(vec![]), ..AdjustmentParts::default() };
/// assert_eq!(Adjustment::new(nowhere), Err(InvalidAdjustment::Empty("countries")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidAdjustment {
    /// The list with this name is empty: the method could be used nowhere, which `offered` false says plainly.
    Empty(&'static str),
    /// A country is not two upper-case letters (ISO 3166-1 alpha-2).
    Country(String),
    /// A currency has two limits.
    TwoLimits(Currency),
}

impl fmt::Display for InvalidAdjustment {
    /// What to write in its place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(list) => write!(f, "{list}: is empty; leave it out, or write offered = false"),
            Self::Country(code) => InvalidMethod::Country(code.clone()).fmt(f),
            Self::TwoLimits(currency) => InvalidMethod::TwoLimits(*currency).fmt(f),
        }
    }
}

impl std::error::Error for InvalidAdjustment {}

impl Adjustment {
    /// What these parts say, when all of it makes sense. An empty list of limits limits nothing, and counts as none.
    ///
    /// # Errors
    /// [`InvalidAdjustment`].
    ///
    /// ```
    /// use dropin_catalogue::{Adjustment, AdjustmentParts};
    ///
    /// let parts = |code: &str| AdjustmentParts { countries: Some(vec![code.to_owned()]), ..AdjustmentParts::default() };
    /// assert!(Adjustment::new(parts("NL")).is_ok());
    /// let refused = Adjustment::new(parts("nl")).unwrap_err();
    /// assert_eq!(refused.to_string(), "countries: nl is no upper-case ISO 3166-1 alpha-2 code");
    /// ```
    pub fn new(parts: AdjustmentParts) -> Result<Self, InvalidAdjustment> {
        let amounts = parts.amounts.filter(|ranges| !ranges.is_empty());
        let parts = AdjustmentParts { amounts, ..parts };
        for (list, empty) in [
            ("countries", parts.countries.as_ref().is_some_and(Vec::is_empty)),
            ("currencies", parts.currencies.as_ref().is_some_and(Vec::is_empty)),
            ("channels", parts.channels.as_ref().is_some_and(Vec::is_empty)),
        ] {
            if empty {
                return Err(InvalidAdjustment::Empty(list));
            }
        }
        if let Some(country) = parts.countries.iter().flatten().find(|country| !is_country(country)) {
            return Err(InvalidAdjustment::Country(country.clone()));
        }
        match parts.amounts.as_deref().and_then(limited_twice) {
            Some(currency) => Err(InvalidAdjustment::TwoLimits(currency)),
            None => Ok(Self(parts)),
        }
    }

    /// That the method is offered, or is not; everything else stays as it is.
    ///
    /// ```
    /// use dropin_catalogue::Adjustment;
    ///
    /// assert_eq!(Adjustment::default().with_offered(false).offered, Some(false));
    /// ```
    #[must_use]
    pub fn with_offered(self, offered: bool) -> Self {
        Self(AdjustmentParts { offered: Some(offered), ..self.0 })
    }

    /// Its parts, to be changed and checked again.
    ///
    /// ```
    /// use dropin_catalogue::{Adjustment, AdjustmentParts};
    ///
    /// let off = Adjustment::default().with_offered(false);
    /// assert_eq!(Adjustment::new(off.clone().into_parts()), Ok(off));
    /// ```
    pub fn into_parts(self) -> AdjustmentParts {
        self.0
    }
}

impl Deref for Adjustment {
    type Target = AdjustmentParts;

    fn deref(&self) -> &AdjustmentParts {
        &self.0
    }
}

/// Adjustments of methods, by the methods' ids.
///
/// ```
/// use dropin_catalogue::{Adjustment, Adjustments, find_method};
///
/// let mut adjustments = Adjustments::default();
/// adjustments.set(find_method("PAYPAL").expect("a built-in method"), Adjustment::default().with_offered(false));
/// assert_eq!(adjustments.of("PAYPAL").and_then(|one| one.offered), Some(false));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Adjustments(BTreeMap<Cow<'static, str>, Adjustment>);

impl Adjustments {
    /// From stored ids and adjustments; one that changes nothing is not kept. Whether there is a method with an id is not looked up: a method that
    /// was taken out of a deployment leaves its adjustments behind.
    ///
    /// # Errors
    /// [`InvalidMethod::Id`] when an id is none.
    ///
    /// ```
    /// use dropin_catalogue::{Adjustment, Adjustments};
    ///
    /// let off = || Adjustment::default().with_offered(false);
    /// assert!(Adjustments::restore([("TIKKIE".to_owned(), off())]).is_ok());
    /// assert!(Adjustments::restore([("tikkie".to_owned(), off())]).is_err());
    /// ```
    pub fn restore(stored: impl IntoIterator<Item = (String, Adjustment)>) -> Result<Self, InvalidMethod> {
        let mut all = Self::default();
        for (id, adjustment) in stored {
            if !is_id(&id) {
                return Err(InvalidMethod::Id);
            }
            all.put(Cow::Owned(id), adjustment);
        }
        Ok(all)
    }

    /// Adjusts `method`; replaces what it had. One that changes nothing is not kept.
    ///
    /// ```
    /// # use dropin_catalogue::{Adjustment, Adjustments, find_method};
    /// # let method = find_method("PAYPAL").expect("a built-in method");
    /// let mut adjustments = Adjustments::default();
    /// adjustments.set(method, Adjustment::default().with_offered(false));
    /// adjustments.set(method, Adjustment::default());
    /// assert!(adjustments.is_empty());
    /// ```
    pub fn set(&mut self, method: &Method, adjustment: Adjustment) {
        self.put(method.id.clone(), adjustment);
    }

    fn put(&mut self, id: Cow<'static, str>, adjustment: Adjustment) {
        if adjustment == Adjustment::default() {
            self.0.remove(&id);
        } else {
            self.0.insert(id, adjustment);
        }
    }

    /// That of the method with this id.
    ///
    /// ```
    /// # use dropin_catalogue::Adjustments;
    /// assert_eq!(Adjustments::default().of("VISA"), None);
    /// ```
    pub fn of(&self, id: &str) -> Option<&Adjustment> {
        self.0.get(id)
    }

    /// All of them, in the order of the methods' ids.
    ///
    /// ```
    /// # use dropin_catalogue::{Adjustment, Adjustments};
    /// let off = Adjustment::default().with_offered(false);
    /// let all = Adjustments::restore([("VISA".to_owned(), off.clone()), ("MC".to_owned(), off)])?;
    /// assert_eq!(all.iter().map(|(id, _)| id).collect::<Vec<_>>(), ["MC", "VISA"]);
    /// # Ok::<(), dropin_catalogue::InvalidMethod>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Adjustment)> {
        self.0.iter().map(|(id, adjustment)| (&**id, adjustment))
    }

    /// Whether there are none.
    ///
    /// ```
    /// # use dropin_catalogue::Adjustments;
    /// assert!(Adjustments::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adjustment_that_makes_no_sense_is_refused() {
        let euros = |least| Range::new(Currency::Eur, least, None).unwrap();
        let none = AdjustmentParts::default;
        for (parts, expected) in [
            (AdjustmentParts { countries: Some(vec![]), ..none() }, InvalidAdjustment::Empty("countries")),
            (AdjustmentParts { currencies: Some(vec![]), ..none() }, InvalidAdjustment::Empty("currencies")),
            (AdjustmentParts { channels: Some(vec![]), ..none() }, InvalidAdjustment::Empty("channels")),
            (
                AdjustmentParts { countries: Some(vec!["NL".to_owned(), "NLD".to_owned()]), ..none() },
                InvalidAdjustment::Country("NLD".to_owned()),
            ),
            (
                AdjustmentParts { amounts: Some(vec![euros(1), euros(2)]), ..none() },
                InvalidAdjustment::TwoLimits(Currency::Eur),
            ),
        ] {
            assert_eq!(Adjustment::new(parts), Err(expected));
        }
        let unlimited = AdjustmentParts { amounts: Some(vec![]), ..none() };
        assert_eq!(Adjustment::new(unlimited), Ok(Adjustment::default()));
    }
}
