//! A checkout with a payment method of its own: a kiosk voucher for small amounts in Austria and Germany, beside cards.
//!
//! `cargo run -p dropin-catalogue --example checkout`

use std::error::Error;
use std::time::Duration;

use dropin_catalogue::{
    Adjustment, AdjustmentParts, Adjustments, Ask, Catalogue, Class, MerchantMethods, Method, MethodRefusal, Range,
};
use dropin_money::{Amount, Currency};

/// What the shopper has in the cart, and where the bill goes.
struct Cart {
    country: &'static str,
    total: Amount,
}

impl Cart {
    fn new(country: &'static str, currency: Currency, minor: i64) -> Result<Self, Box<dyn Error>> {
        Ok(Self { country, total: Amount::from_minor(currency, minor)? })
    }

    /// Asks the catalogue about this cart in the shop of `merchant`.
    fn ask<T>(&self, merchant: &MerchantMethods, answer: impl FnOnce(&Ask<'_>) -> T) -> T {
        let currencies = [self.total.currency()];
        answer(&Ask { country: Some(self.country), amount: Some(&self.total), ..Ask::new(merchant, &currencies) })
    }
}

/// A voucher that the shopper pays at a kiosk within three days, from 1.00 to 500.00 EUR.
fn kiosk() -> Result<Method, Box<dyn Error>> {
    Ok(Method::builder("KIOSK", "Pay at the kiosk", Class::Offline)
        .translated([("de", "Am Kiosk bezahlen")])
        .countries(["AT", "DE"])
        .currencies([Currency::Eur])
        .amounts([Range::new(Currency::Eur, 100, Some(50_000))?])
        .patience(Duration::from_secs(3 * 24 * 60 * 60))
        .refunds(false)
        .build()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    // This deployment's processor can do cards and the kiosk; its contract for American Express covers dollars only.
    let mut adjustments = Adjustments::default();
    let amex = dropin_catalogue::find_method("AMEX").ok_or("no such method")?;
    let dollars = AdjustmentParts { currencies: Some(vec![Currency::Usd]), ..AdjustmentParts::default() };
    adjustments.set(amex, Adjustment::new(dollars)?);
    let is_card = |method: &Method| matches!(method.id(), "VISA" | "MC" | "AMEX");
    let catalogue = Catalogue::new(is_card, &adjustments).with([kiosk()?])?;

    // What the page shows a German shopper, in German.
    let shop = MerchantMethods::default();
    let german = Cart::new("DE", Currency::Eur, 2_990)?;
    let offers = german.ask(&shop, |ask| catalogue.offers(ask));
    let shown: Vec<_> = offers.iter().map(|method| method.name_in("de").0).collect();
    println!("{} EUR in {}: {}", german.total, german.country, shown.join(", "));
    assert_eq!(shown, ["Visa", "Mastercard", "Am Kiosk bezahlen"]);

    // What the shopper chose is asked about again when the payment is made: the answer is the same, or says why not.
    let chosen = german.ask(&shop, |ask| catalogue.offer("KIOSK", ask))?;
    println!("voucher of {}: to be paid within {} hours", chosen.name(), chosen.patience().as_secs() / 3_600);
    assert_eq!((chosen.class(), chosen.patience().as_secs()), (Class::Offline, 259_200));

    // Elsewhere the kiosk is refused, and cards stay.
    let limits = Range::new(Currency::Eur, 100, Some(50_000))?;
    for (cart, refusal) in [
        (Cart::new("FR", Currency::Eur, 2_990)?, MethodRefusal::Country),
        (Cart::new("DE", Currency::Usd, 2_990)?, MethodRefusal::Currency),
        (Cart::new("DE", Currency::Eur, 99)?, MethodRefusal::Amount(limits)),
        (Cart::new("DE", Currency::Eur, 50_001)?, MethodRefusal::Amount(limits)),
    ] {
        let refused = cart.ask(&shop, |ask| catalogue.offer("KIOSK", ask)).map(|method| method.id().to_owned());
        println!("{} {} in {}: KIOSK {refusal}", cart.total, cart.total.currency().code(), cart.country);
        assert_eq!(refused, Err(refusal));
        assert!(cart.ask(&shop, |ask| catalogue.offer("VISA", ask)).is_ok());
    }

    // A merchant who wants no vouchers switches them off for the own shop alone.
    let mut cards_only = MerchantMethods::default();
    cards_only.adjustments.set(&kiosk()?, Adjustment::default().with_offered(false));
    let refused = german.ask(&cards_only, |ask| catalogue.offer("KIOSK", ask)).map(|method| method.id().to_owned());
    assert_eq!(refused, Err(MethodRefusal::Off));

    // An id is given once, and a method that makes no sense is not made.
    assert!(catalogue.clone().with([kiosk()?]).is_err(), "there is one already");
    let Err(refused) = Method::builder("KIOSK2", "Kiosk", Class::Offline).countries(["Germany"]).build() else {
        return Err("a country's name is no code".into());
    };
    println!("{refused}");
    assert_eq!(refused.to_string(), "countries: Germany is no upper-case ISO 3166-1 alpha-2 code");
    Ok(())
}
