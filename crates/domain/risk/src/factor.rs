use dropin_kernel::coded_enum;
use dropin_validation::Country;

use crate::email;
use crate::facts::{CardFunding, FactText, Facts};
use crate::rules::{Limits, Rules};
use crate::velocity::{VelocityCounts, VelocityKey, VelocityWindow};

coded_enum! {
    /// What may be told against a payment or for it (docs/SCREENING.md). Its points stand under `[weights]` of the rules.
    ///
    /// ```
    /// use dropin_risk::Factor;
    ///
    /// assert_eq!("NEW_SHOPPER".parse(), Ok(Factor::NewShopper));
    /// ```
    #[non_exhaustive]
    pub enum Factor: "factor" {
        /// The merchant was never paid by this shopper, or first within the last day.
        NewShopper = "NEW_SHOPPER",
        /// The shopper has paid the merchant before, and the first time was RETURNING_DAYS ago or longer.
        ReturningShopper = "RETURNING_SHOPPER",
        /// The card is of another country than the billing address.
        CardCountryIsNotBilling = "CARD_COUNTRY_IS_NOT_BILLING",
        /// The card is of another country than the IP address.
        CardCountryIsNotIp = "CARD_COUNTRY_IS_NOT_IP",
        /// Card, billing address and IP address are of three countries.
        CountriesAllDiffer = "COUNTRIES_ALL_DIFFER",
        /// The shipping address is in another country than the billing address.
        BillingIsNotShipping = "BILLING_IS_NOT_SHIPPING",
        /// The browser's clock is set to another country than the IP address has.
        TimeZoneIsNotIp = "TIME_ZONE_IS_NOT_IP",
        /// The browser's language is that of none of the countries of card, billing address and IP address.
        LanguageIsForeign = "LANGUAGE_IS_FOREIGN",
        /// The telephone number is of another country than the billing address.
        PhoneIsNotBilling = "PHONE_IS_NOT_BILLING",
        /// The e-mail's domain gives addresses away for minutes.
        EmailIsDisposable = "EMAIL_IS_DISPOSABLE",
        /// A program seems to have made the e-mail address up.
        EmailIsGenerated = "EMAIL_IS_GENERATED",
        /// The card is prepaid.
        CardIsPrepaid = "CARD_IS_PREPAID",
        /// The total is above LARGE_AMOUNT.
        AmountIsLarge = "AMOUNT_IS_LARGE",
        /// The total is below SMALL_AMOUNT, as it is when cards are tested.
        AmountIsSmall = "AMOUNT_IS_SMALL",
        /// The merchant's declines jump, as they do when cards are tested there.
        MerchantAlarm = "MERCHANT_ALARM",
        /// The issuer knows another billing address.
        IssuerAddressDiffers = "ISSUER_ADDRESS_DIFFERS",
        /// The issuer knows another verification code.
        IssuerCodeDiffers = "ISSUER_CODE_DIFFERS",
        /// The shopper authenticated.
        Authenticated = "AUTHENTICATED",
    }
}

impl Factor {
    /// Whether it applies to a payment, by the limits and lists of `rules`.
    pub(crate) fn applies(self, facts: &Facts, rules: &Rules) -> bool {
        let limits = rules.limits();
        match self {
            Self::NewShopper => facts.known_days.is_none_or(|days| days == 0),
            Self::ReturningShopper => facts.known_days.is_some_and(|days| limits.returning_days.max(1) <= days),
            Self::CardCountryIsNotBilling => differ(facts.country_of_card(), facts.billing_country),
            Self::CardCountryIsNotIp => differ(facts.country_of_card(), facts.ip_country),
            Self::CountriesAllDiffer => {
                let (card, billing, ip) = (facts.country_of_card(), facts.billing_country, facts.ip_country);
                differ(card, billing) && differ(billing, ip) && differ(card, ip)
            }
            Self::BillingIsNotShipping => differ(facts.billing_country, facts.shipping_country),
            Self::TimeZoneIsNotIp => differ(facts.time_zone_country, facts.ip_country),
            Self::LanguageIsForeign => is_foreign(facts),
            Self::PhoneIsNotBilling => differ(facts.phone_country, facts.billing_country),
            Self::EmailIsDisposable => {
                let domain = facts.email.as_ref().map(FactText::as_str).and_then(email::domain);
                domain.is_some_and(|domain| rules.is_disposable(domain))
            }
            Self::EmailIsGenerated => facts.email.as_ref().is_some_and(|address| email::is_generated(address.as_str())),
            Self::CardIsPrepaid => facts.funding_of_card() == Some(CardFunding::Prepaid),
            Self::AmountIsLarge => facts.amount_cents.is_some_and(|cents| limits.large_cents < cents),
            Self::AmountIsSmall => facts.amount_cents.is_some_and(|cents| cents < limits.small_cents),
            Self::MerchantAlarm => is_alarm(facts, limits),
            Self::IssuerAddressDiffers => facts.issuer.address_matches == Some(false),
            Self::IssuerCodeDiffers => facts.issuer.code_matches == Some(false),
            Self::Authenticated => facts.issuer.authenticated == Some(true),
        }
    }
}

/// Whether both are known and differ.
fn differ(one: Option<Country>, other: Option<Country>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

fn is_foreign(facts: &Facts) -> bool {
    let countries = [facts.country_of_card(), facts.billing_country, facts.ip_country];
    let mut known = countries.into_iter().flatten().peekable();
    facts.language_country.is_some_and(|language| known.peek().is_some() && known.all(|country| country != language))
}

/// Whether the merchant's declines of ten minutes jump, or have jumped and hardly anybody passes the challenges that this led to.
fn is_alarm(facts: &Facts, limits: &Limits) -> bool {
    let counts = |window| facts.velocity.sum(VelocityKey::Merchant, window).map(|sum| sum.counts).unwrap_or_default();
    let now = counts(VelocityWindow::TenMinutes);
    declines_jump(now, counts(VelocityWindow::Hour), counts(VelocityWindow::Day), limits) || is_attacked(now, limits)
}

/// Whether the declines of ten minutes are many, and further above what the day makes one expect than chance puts them.
///
/// - The day is counted without the last hour, and with 100 tries of which 10 were declined, so that a merchant's first day has an expectation.
/// - However many of the day's were declined, no more than ALARM_PERCENT are expected: a long attack never becomes what is usual.
/// - Chance spreads a number of declines by the root of what is expected; ALARM_DEVIATIONS of it are too many. Both sides are squared.
/// - What screening blocked no issuer heard of, nor of a challenge that nobody has passed during an alarm: it hides no decline.
fn declines_jump(now: VelocityCounts, hour: VelocityCounts, day: VelocityCounts, limits: &Limits) -> bool {
    let heard = |counts: VelocityCounts| {
        let unpassed = counts.alarm_challenges.saturating_sub(counts.alarm_passes);
        let unheard = counts.blocks.saturating_add(unpassed);
        (u128::from(counts.tries.saturating_sub(unheard)), u128::from(counts.declines))
    };
    let (now, hour, day) = (heard(now), heard(hour), heard(day));
    let (usual_tries, usual_declines) = (day.0.saturating_sub(hour.0) + 100, day.1.saturating_sub(hour.1) + 10);
    let (tries, declines) = now;
    // What is expected is tries * usual_declines / usual_tries; all is multiplied by usual_tries.
    let expected = tries * usual_declines.min(u128::from(limits.alarm_percent) * usual_tries / 100);
    let above = (declines * usual_tries).saturating_sub(expected);
    let deviations = u128::from(limits.alarm_deviations);
    u128::from(limits.alarm_declines) <= declines
        && deviations * deviations * expected * usual_tries <= above.saturating_mul(above)
}

/// Whether an alarm goes on: of three who are challenged fewer than one pays. Honest shoppers who leave at a challenge are fewer, testers pass none.
/// Who passes one for nothing, with a card of their own, counts on neither side.
fn is_attacked(now: VelocityCounts, limits: &Limits) -> bool {
    let challenges = u64::from(now.alarm_challenges.saturating_sub(now.alarm_verifications));
    let passes = u64::from(now.alarm_passes);
    limits.alarm_declines <= challenges && 3 * passes < challenges
}
