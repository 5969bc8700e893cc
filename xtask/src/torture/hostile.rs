//! The suite of receivers that mean harm, in its long form.

use super::Plan;
use crate::command::{cargo, rendered};
use crate::failure::{Context, Failure, Outcome};

/// The variable that tells the suite how many seconds it has.
const SECONDS: &str = "HOSTILE_SECONDS";

/// Has the notifier's own tests do it.
pub(super) fn run(plan: &Plan) -> Outcome<()> {
    let mut suite = cargo();
    suite.args(["test", "-p", "notifier", "--test", "hostile", "--", "--ignored", "--nocapture"]);
    suite.env(SECONDS, plan.time.as_secs().to_string());
    let status = suite.status().context(|| format!("start `{}`", rendered(&suite)))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new("a hostile receiver had its way; what it did stands above"))
}
