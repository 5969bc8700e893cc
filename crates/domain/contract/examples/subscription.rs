//! A subscription that is kept as JSON between the steps of its life: opened, charged three times, declined softly, given a new card, declined for
//! good, and closed by that.
//!
//! `cargo run -p dropin-contract --example subscription --features serde`

use std::error::Error;

use dropin_card::Scheme;
use dropin_contract::{
    CardSummary, ChargeRefused, ChargeTry, Consent, Contract, ContractEvent, ContractKind, ContractOrigin,
    ContractStateKind, ContractStep, CredentialDecline, Initiator, NewContract, TryResult,
};
use dropin_kernel::{ContractId, MerchantId, Timestamp, uuid::Uuid};
use dropin_money::{Amount, Currency};

/// A store of one contract: its JSON, what the merchant was told, and every try to charge it.
struct Stored {
    contract: String,
    events: Vec<ContractEvent>,
    tries: Vec<ChargeTry>,
}

impl Stored {
    fn contract(&self) -> Result<Contract, serde_json::Error> {
        serde_json::from_str(&self.contract)
    }

    /// Writes a step where the contract still is as the step was decided on.
    fn write(&mut self, step: ContractStep) -> Result<(), Box<dyn Error>> {
        if self.contract()?.revision != step.change.expected {
            return Err("another program was faster: read the contract again and decide again".into());
        }
        self.contract = serde_json::to_string(&step.change.next)?;
        self.events.extend(step.event);
        Ok(())
    }

    /// Charges the subscription, where that is allowed. `response` is what the issuer answers, by ISO 8583.
    fn charge(&mut self, response: &str, now: Timestamp) -> Result<(), Box<dyn Error>> {
        let contract = self.contract()?;
        let mark = contract.plan_merchant_charge(&Amount::from_minor(Currency::Eur, 9_90)?, &self.tries, now)?;
        assert_eq!(mark.initiator(), Initiator::Merchant);
        assert_eq!(
            mark.network_transaction_id, contract.network_transaction_id,
            "the issuer finds the shopper's consent"
        );
        if response == "00" {
            self.tries.push(ChargeTry { at: now, result: TryResult::Approved });
            return Ok(());
        }
        let scheme = contract.card.map(|card| card.summary.scheme);
        let decline = CredentialDecline::of_codes(scheme, Some(response), None);
        self.tries.push(ChargeTry { at: now, result: TryResult::Declined(decline) });
        contract.declined(decline.category, now, now).map_or(Ok(()), |step| self.write(step))
    }
}

fn noon(day: &str) -> Result<Timestamp, Box<dyn Error>> {
    Ok(format!("{day}T12:00:00.000000Z").parse()?)
}

/// The contract whose first payment has begun.
fn opening(now: Timestamp) -> Result<Contract, Box<dyn Error>> {
    let new = NewContract {
        id: ContractId::new(Uuid::from_u128(1)),
        merchant_id: MerchantId::new(Uuid::from_u128(2)),
        kind: ContractKind::Recurring,
        origin: ContractOrigin::Server { reference: "subscription-7".parse()? },
        payment_method: "VISA".to_owned(),
        currency: Currency::Eur,
        billing_profile_reference: Some("customer-7".parse()?),
        consent: Consent { text_version: "2026-11".parse()?, locale: "de_AT".parse()?, at: now },
    };
    Ok(Contract::open(new, now)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let visa = |last_four: &str, expiry: &str| -> Result<CardSummary, Box<dyn Error>> {
        Ok(CardSummary { scheme: Scheme::Visa, last_four: last_four.parse()?, expiry: expiry.parse()? })
    };

    // The shopper pays the first month and authenticates; the processor stores the card.
    let now = noon("2026-08-23")?;
    let contract = serde_json::to_string(&opening(now)?)?;
    let mut stored = Stored { contract, events: Vec::new(), tries: Vec::new() };
    let first = "483297487231504".parse()?;
    let step = stored.contract()?.credential_stored(visa("4242", "2026-12")?, Some(first), now)?;
    stored.write(step)?;

    // Three months are charged.
    for day in ["2026-09-23", "2026-10-23", "2026-11-23"] {
        stored.charge("00", noon(day)?)?;
    }

    // The merchant hears, once, that the card ends.
    let now = noon("2026-12-01")?;
    let step = stored.contract()?.expiring(now).ok_or("the card ends in 30 days")?;
    stored.write(step)?;
    assert!(stored.contract()?.expiring(now).is_none());

    // The account is short of money on the day; the next try is for tomorrow, and succeeds.
    stored.charge("51", noon("2026-12-23")?)?;
    let too_early = stored.charge("00", noon("2026-12-23")?).err().map(|refused| refused.to_string());
    let wait = ChargeRefused::NotBefore { at: noon("2026-12-24")? };
    assert_eq!(too_early, Some(wait.to_string()));
    stored.charge("00", noon("2026-12-24")?)?;

    // The card ends; days later the scheme's account updater knows the next one.
    let step = stored.contract()?.expired(noon("2027-01-01")?).ok_or("the card has ended")?;
    stored.write(step)?;
    assert!(stored.charge("00", noon("2027-01-02")?).is_err());
    let step = stored.contract()?.card_updated(visa("4242", "2031-12")?, None, noon("2027-01-05")?)?;
    stored.write(step)?;
    stored.charge("00", noon("2027-01-23")?)?;

    // The shopper tells the bank to let the merchant charge nothing more.
    stored.charge("R1", noon("2027-02-23")?)?;
    assert_eq!(stored.contract()?.state.kind(), ContractStateKind::Closed);
    let refused = stored.charge("00", noon("2027-03-23")?).err().map(|refused| refused.to_string());
    assert_eq!(refused.as_deref(), Some("the contract is CLOSED"));

    use ContractEvent::{Closed, Expiring, Opened, Suspended};
    assert_eq!(stored.events, [Opened, Expiring, Suspended, Opened, Closed]);

    // A damaged record is not restored.
    let damaged = stored.contract.replace("\"RECURRING\"", "\"ONE_CLICK\"");
    let refused = serde_json::from_str::<Contract>(&damaged).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|why| why.contains("ONE_CLICK comes from a Session alone")));
    println!("{}", stored.contract);
    Ok(())
}
