use crate::decision::Decision;
use crate::rules::Rules;
use crate::screening::Screening;

/// A payment that other rules would have decided on differently.
///
/// ```
/// use dropin_risk::{Decision, Facts, Rules, RulesFile, dry_run};
///
/// let past = Rules::built_in().screen(Facts { billing_country: "AT".parse().ok(), ..Facts::default() });
/// let rules = Rules::built_in().with(&RulesFile::parse("[block]\nBILLING_COUNTRIES = ['AT']")?)?;
/// let run = dry_run([(7, &past)], &rules);
/// assert_eq!((run.changes[0].id, run.changes[0].before, run.changes[0].after.decision()), (7, Decision::Allow, Decision::Block));
/// # Ok::<(), dropin_risk::Mistakes>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ScreeningChange<Id> {
    /// Which payment.
    pub id: Id,
    /// What was decided.
    pub before: Decision,
    /// What would be decided, and why.
    pub after: Screening,
}

/// What other rules would have changed.
///
/// ```
/// use dropin_risk::{Facts, Rules, dry_run};
///
/// let rules = Rules::built_in();
/// let past = rules.screen(Facts::default());
/// let run = dry_run([("A", &past), ("B", &past)], &rules);
/// assert_eq!((run.screened, run.changes.len()), (2, 0));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DryRun<Id> {
    /// How many payments were screened again.
    pub screened: u64,
    /// Those that would be decided on differently, in the order in which they came.
    pub changes: Vec<ScreeningChange<Id>>,
}

impl<Id> DryRun<Id> {
    /// How many would go from one decision to another.
    ///
    /// ```
    /// # use dropin_risk::{Decision, Rules, Screening, dry_run};
    /// let run = dry_run(Vec::<((), &Screening)>::new(), &Rules::built_in());
    /// assert_eq!(run.count(Decision::Allow, Decision::Block), 0);
    /// ```
    pub fn count(&self, before: Decision, after: Decision) -> usize {
        self.changes.iter().filter(|change| change.before == before && change.after.decision() == after).count()
    }
}

/// Screens past payments again under `rules`, from the facts that were stored, and says what would have changed. Nothing else changes.
///
/// `past` are screenings with whatever names their payments.
pub fn dry_run<'a, Id>(past: impl IntoIterator<Item = (Id, &'a Screening)>, rules: &Rules) -> DryRun<Id> {
    let mut run = DryRun { screened: 0, changes: Vec::new() };
    for (id, screening) in past {
        run.screened += 1;
        let after = screening.repeat(rules);
        if after.decision() != screening.decision() {
            run.changes.push(ScreeningChange { id, before: screening.decision(), after });
        }
    }
    run
}
