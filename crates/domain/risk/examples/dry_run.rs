//! Screenings that are kept as JSON beside their payments, and what a new file of rules would have changed.
//!
//! `cargo run -p dropin-risk --example dry_run --features serde`

use std::error::Error;

use dropin_risk::{
    Decision, FactText, Facts, Rules, RulesFile, Screening, VelocityKey, VelocitySum, VelocityWindow, dry_run,
};

fn main() -> Result<(), Box<dyn Error>> {
    let rules = Rules::built_in();

    // What the service stores with each payment.
    let mut stored = Vec::new();
    for cards in 1..=6 {
        let mut facts =
            Facts { device: Some(FactText::new("browser-7")), amount_cents: Some(1_00), ..Facts::default() };
        let hour = VelocitySum { cards, ..VelocitySum::default() };
        facts.velocity.set(VelocityKey::Device, VelocityWindow::Hour, hour);
        stored.push((cards, serde_json::to_string(&rules.screen(facts))?));
    }

    // The operator wants to be stricter: three cards in an hour are enough.
    let stricter = rules.with(&RulesFile::parse("[velocity]\nDEVICE_CARDS_HOUR = [3, 90]")?)?;
    let past: Vec<(u32, Screening)> = stored
        .iter()
        .map(|(cards, json)| Ok((*cards, serde_json::from_str(json)?)))
        .collect::<serde_json::Result<_>>()?;
    let run = dry_run(past.iter().map(|(cards, screening)| (*cards, screening)), &stricter);

    println!("{} payments screened again, {} would be decided on differently", run.screened, run.changes.len());
    for change in &run.changes {
        let why: Vec<String> = change.after.reasons().iter().map(ToString::to_string).collect();
        println!(
            "the payment with card {}: {} -> {}: {}",
            change.id,
            change.before,
            change.after.decision(),
            why.join(", ")
        );
    }
    assert_eq!(run.count(Decision::Allow, Decision::Block), 1, "the fourth card is blocked now");
    Ok(())
}
