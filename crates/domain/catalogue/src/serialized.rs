//! Serialized forms. Each is restored through the checks of the constructor, currencies by their codes, limits as text, times in whole seconds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use dropin_money::Currency;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::adjustment::{Adjustment, AdjustmentParts, Adjustments};
use crate::method::{Class, Method, SalesChannel, WindowFrom};
use crate::range::Range;

impl Serialize for Adjustment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Adjustment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(AdjustmentParts::deserialize(deserializer)?).map_err(Error::custom)
    }
}

impl Serialize for Adjustments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Adjustments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::restore(BTreeMap::<String, Adjustment>::deserialize(deserializer)?).map_err(Error::custom)
    }
}

/// An own method. A built-in one is stored by its id, and found again by [`crate::find_method`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodForm<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    class: Class,
    names: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    countries: Vec<Cow<'a, str>>,
    currencies: Vec<Currency>,
    amounts: Vec<Range>,
    channels: Vec<SalesChannel>,
    patience_seconds: u64,
    capture_window_seconds: u64,
    window_from: WindowFrom,
    partial_capture: bool,
    capture_later: bool,
    refunds: bool,
    recurring: bool,
    sandbox: bool,
    source: Cow<'a, str>,
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MethodForm {
            id: self.id().into(),
            name: self.name().into(),
            class: self.class,
            names: self.names().map(|(language, name)| (language.into(), name.into())).collect(),
            countries: self.countries.clone(),
            currencies: self.currencies.to_vec(),
            amounts: self.amounts.to_vec(),
            channels: self.channels.to_vec(),
            patience_seconds: self.patience.as_secs(),
            capture_window_seconds: self.capture_window.as_secs(),
            window_from: self.window_from,
            partial_capture: self.partial_capture,
            capture_later: self.capture_later,
            refunds: self.refunds,
            recurring: self.recurring,
            sandbox: self.sandbox,
            source: self.source().into(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = MethodForm::deserialize(deserializer)?;
        let owned = |text: Cow<'_, str>| text.into_owned();
        if crate::find_method(&form.id).is_some() {
            let id = form.id;
            return Err(D::Error::custom(format_args!("{id} is a built-in method: store its id alone")));
        }
        Self::builder(owned(form.id), owned(form.name), form.class)
            .translated(form.names.into_iter().map(|(language, name)| (owned(language), owned(name))))
            .countries(form.countries.into_iter().map(owned))
            .currencies(form.currencies)
            .amounts(form.amounts)
            .channels(form.channels)
            .patience(Duration::from_secs(form.patience_seconds))
            .capture_window(Duration::from_secs(form.capture_window_seconds), form.window_from)
            .partial_capture(form.partial_capture)
            .capture_later(form.capture_later)
            .refunds(form.refunds)
            .recurring(form.recurring)
            .sandbox(form.sandbox)
            .source(owned(form.source))
            .build()
            .map_err(Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MerchantMethods, PayLaterRegion, PayOption, find_method};

    fn own() -> Method {
        Method::builder("TIKKIE", "Tikkie", Class::Online)
            .translated([("nl", "Tikkie betalen")])
            .countries(["NL", "BE"])
            .currencies([Currency::Eur])
            .amounts([Range::new(Currency::Eur, 50, Some(500_000)).unwrap()])
            .channels([SalesChannel::DropIn])
            .build()
            .unwrap()
    }

    #[test]
    fn an_own_method_comes_back_through_the_builders_checks() {
        let text = serde_json::to_string(&own()).unwrap();
        assert!(text.contains(r#""amounts":["0.50 to 5000.00 EUR"]"#) && text.contains(r#""patience_seconds":172800"#));
        assert_eq!(serde_json::from_str::<Method>(&text).unwrap(), own());
        for (from, to, word) in [
            ("TIKKIE", "tikkie", "capital letters"),
            ("TIKKIE", "VISA", "built-in"),
            (r#"["EUR"]"#, r#"["USD"]"#, "EUR is not among"),
            (r#"["EUR"]"#, r#"["XTS"]"#, "such as USD"),
            ("0.50 to 5000.00", "5000.00 to 0.50", "ends before"),
            ("172800", "0", "patience"),
            ("\"class\"", "\"sort\"", "sort"),
        ] {
            let refused = serde_json::from_str::<Method>(&text.replace(from, to)).unwrap_err().to_string();
            assert!(refused.contains(word), "{to}: {refused}");
        }
    }

    #[test]
    fn what_is_particular_to_a_merchant_comes_back_whole() {
        let adjustment = Adjustment::new(AdjustmentParts {
            offered: Some(true),
            countries: Some(vec!["NL".to_owned()]),
            currencies: Some(vec![Currency::Eur]),
            amounts: Some(vec![Range::new(Currency::Kwd, 0, Some(1_500)).unwrap()]),
            channels: Some(vec![SalesChannel::Checkout]),
            recurring: Some(false),
            capture_later: Some(false),
            sandbox: Some(true),
        });
        let mut methods = MerchantMethods::default();
        methods.adjustments.set(&own(), adjustment.unwrap());
        methods.adjustments.set(find_method("VISA").unwrap(), Adjustment::default().with_offered(false));
        methods.pay_later_clients.insert(PayLaterRegion::Europe, "K1".to_owned());
        methods.google_pay = "example:shop-17:NL".parse().ok();
        methods.address_check = true;
        let text = serde_json::to_string(&methods).unwrap();
        assert!(text.contains(r#""VISA":{"offered":false}"#) && text.contains(r#""at most 1.500 KWD""#), "{text}");
        assert!(text.contains(r#"{"eu":"K1"}"#), "{text}");
        assert_eq!(serde_json::from_str::<MerchantMethods>(&text).unwrap(), methods);
        assert_eq!(serde_json::from_str::<MerchantMethods>("{}").unwrap(), MerchantMethods::default());
        for (from, to) in [
            ("NL", "nl"),
            ("VISA", "visa"),
            ("offered", "ofered"),
            ("checkout", "shop"),
            ("\"eu\"", "\"us\""),
            (":NL", ":nl"),
        ] {
            assert!(serde_json::from_str::<MerchantMethods>(&text.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn small_values_are_their_texts() {
        assert_eq!(serde_json::to_string(&PayOption::After(14)).unwrap(), r#""after 14 days""#);
        let locale: crate::Locale = serde_json::from_str(r#""de_AT""#).unwrap();
        assert_eq!(serde_json::to_string(&locale).unwrap(), r#""de_AT""#);
        assert!(serde_json::from_str::<crate::Locale>(r#""de-AT""#).is_err());
    }
}
