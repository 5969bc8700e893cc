//! What becomes of a batch where other programs change the same rows.

use std::time::{Duration, Instant};

use dropin_store_runtime::fault::Fault;

/// How long after its start a batch's statement is run again.
const MAX_CONTENTION: Duration = Duration::from_millis(500);

/// Runs the statement of a batch again where it failed by what changed meanwhile. A Session or an Order is rarely wanted by two at once; a contract is
/// that of many Orders, and one that another program charges must not send the payments of others out of the batch: the statement leaves it out when it sees the change, and
/// the last time every contract is left out. What took long runs no second time: its callers may not wait any more, which each alone looks at.
pub(super) fn despite_contention<T: Copy, R>(
    mut eligible: Vec<T>,
    has_contract: impl Fn(&T) -> bool,
    mut run: impl FnMut(Vec<T>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    let begun = Instant::now();
    let is_contended = |done: &Result<R, Fault>| {
        matches!(done, Err(fault) if fault.is_retryable()) && begun.elapsed() < MAX_CONTENTION
    };
    let mut done = run(eligible.clone());
    if is_contended(&done) && eligible.iter().any(&has_contract) {
        done = run(eligible.clone());
    }
    if is_contended(&done) && eligible.iter().any(&has_contract) {
        eligible.retain(|one| !has_contract(one));
        if !eligible.is_empty() {
            done = run(eligible);
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each run of the statement was given, when so many fail: even numbers have a contract.
    fn runs(eligible: &[u32], failing: usize) -> (Vec<Vec<u32>>, bool) {
        let mut seen = vec![];
        let done = despite_contention(
            eligible.to_vec(),
            |number| number % 2 == 0,
            |all| {
                seen.push(all);
                if seen.len() <= failing { Err(Fault::Retry) } else { Ok(()) }
            },
        );
        (seen, done.is_ok())
    }

    #[test]
    fn a_contract_that_is_wanted_elsewhere_holds_up_no_other_payment() {
        let all = vec![1, 2, 3];
        assert_eq!(runs(&all, 0), (vec![all.clone()], true));
        assert_eq!(runs(&all, 1), (vec![all.clone(); 2], true));
        assert_eq!(runs(&all, 2), (vec![all.clone(), all.clone(), vec![1, 3]], true));
        assert_eq!(runs(&all, 3), (vec![all.clone(), all, vec![1, 3]], false));
        assert_eq!(runs(&[2], 2), (vec![vec![2]; 2], false), "nothing is left to be run");
        assert_eq!(runs(&[1], 1), (vec![vec![1]], false), "without contracts each runs alone");
    }
}
