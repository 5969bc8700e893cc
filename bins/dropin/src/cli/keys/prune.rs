//! `dropin keys prune`: destroying the keys of rotations that nothing needs any more.

use std::process::ExitCode;
use std::time::Duration;

use dropin_access::AuditAction;
use dropin_boot::{Failure, SystemClock};
use dropin_ports::Clock;
use serde_json::{Value, json};

use super::{Acts, OpenRing};
use crate::cli::{Output, say, say_lines};

/// How old the newest key must be before older ones are destroyed: far longer than a program takes from sealing a value to writing it.
const PRUNE_AFTER: Duration = Duration::from_secs(600);

/// What pruning found of one ring.
#[derive(Default)]
pub(super) struct Pruned {
    pub(super) destroyed: Vec<String>,
    /// Older keys that values need, with how many.
    pub(super) needed: Vec<(String, u64)>,
}

/// Destroys what may go, and says what stays and why.
pub(super) async fn prune(
    rings: &[OpenRing],
    of_velocity: Result<Pruned, Failure>,
    acts: &Acts<'_>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let (mut destroyed, mut needed, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for ring in rings {
        match prune_ring(ring, acts).await {
            Err(refusal) => refusals.push(refusal.to_string()),
            Ok(pruned) => {
                if !pruned.needed.is_empty() {
                    let stay: Vec<_> =
                        pruned.needed.iter().map(|(id, values)| format!("{id} ({values} values)")).collect();
                    refusals.push(format!(
                        "these keys stay, since values of the database need them: {}; run `{}`",
                        stay.join(", "),
                        ring.rotate_command()
                    ));
                }
                destroyed.extend(pruned.destroyed);
                needed.extend(pruned.needed);
            }
        }
    }
    let mut known = Vec::new();
    match of_velocity {
        Err(refusal) => refusals.push(refusal.to_string()),
        Ok(pruned) => {
            destroyed.extend(pruned.destroyed);
            known.extend(pruned.needed.iter().map(|(id, shoppers)| {
                format!("Key {id} stays: {shoppers} shoppers who have paid are known by it alone (--forget-shoppers).")
            }));
            needed.extend(pruned.needed);
        }
    }
    let values = |(id, values): &(String, u64)| json!({ "KeyId": id, "Values": values });
    match output.json {
        true => {
            say(&json!({ "Destroyed": destroyed, "Needed": Value::from_iter(needed.iter().map(values)) }).to_string())?
        }
        false => {
            say_lines(destroyed.iter().map(|id| format!("Destroyed key {id}.")), "No key was destroyed.")?;
            known.iter().try_for_each(|line| say(line))?;
        }
    }
    if refusals.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(refusals.join("; ").into()) }
}

async fn prune_ring(ring: &OpenRing, acts: &Acts<'_>) -> Result<Pruned, Failure> {
    let (there, usage) = (ring.keys.list()?, ring.rotation.usage().await?);
    if 0 < usage.damaged {
        return Err(format!("{} sealed values name no key: nothing was destroyed", usage.damaged).into());
    }
    let Some((newest, older)) = there.split_last() else { return Ok(Pruned::default()) };
    // `master.key` has no time, and stays.
    let older: Vec<_> = older.iter().filter(|key| key.made_at.is_some()).collect();
    let now = SystemClock.now();
    if let Some(made_at) = newest.made_at
        && !older.is_empty()
        && now < made_at.plus(PRUNE_AFTER)
    {
        let at = made_at.plus(PRUNE_AFTER);
        return Err(format!(
            "key {} was made at {made_at}, and a program may still write what it sealed before: prune again after {at}",
            newest.id
        )
        .into());
    }
    let mut pruned = Pruned::default();
    for key in older {
        match usage.count(&key.id) {
            0 => {
                acts.append(AuditAction::KeyDestroy, format!("{}/{}", ring.ring.name(), key.id), Some(newest)).await?;
                ring.keys.destroy(&key.id)?;
                pruned.destroyed.push(key.id.clone());
            }
            values => pruned.needed.push((key.id.clone(), values)),
        }
    }
    Ok(pruned)
}
