//! Tables of runs.

use super::drive::{POSTGRES, Sample};
use super::statements;
use super::talk::Troubles;
use crate::bench::figures::{Spread, figure, table};
use crate::bench::run::Bench;
use crate::bench::usage;
use crate::failure::Outcome;

use super::deployment::Deployment;

/// Threads that take less of a payment than this many microseconds are not shown.
const THREAD_MIN: f64 = 1.0;

fn spread(values: impl IntoIterator<Item = f64>) -> String {
    Spread::of(values).map_or_else(|| "-".to_owned(), |spread| spread.to_string())
}

/// Every run beside the median of all.
pub(crate) fn runs(samples: &[Sample]) -> String {
    let mut rows = vec![row("payments per second", samples, Sample::per_second)];
    let steps = samples.first().map_or(&[][..], |sample| &sample.report.steps);
    for (at, step) in steps.iter().enumerate() {
        rows.push(row(&format!("{}, p50 ms", step.name), samples, |sample| sample.report.steps[at].p50));
        rows.push(row(&format!("{}, p99 ms", step.name), samples, |sample| sample.report.steps[at].p99));
    }
    rows.push(row("load1", samples, |sample| sample.load1));
    let numbers: Vec<String> = (1..=samples.len()).map(|number| format!("run {number}")).collect();
    let head: Vec<&str> = [""].into_iter().chain(numbers.iter().map(String::as_str)).chain(["median"]).collect();
    table(&head, &rows)
}

fn row(name: &str, samples: &[Sample], of: impl Fn(&Sample) -> f64) -> Vec<String> {
    let median = Spread::of(samples.iter().map(&of)).map_or(0.0, |spread| spread.median);
    let each = samples.iter().map(|sample| figure(of(sample)));
    [name.to_owned()].into_iter().chain(each).chain([figure(median)]).collect()
}

/// What each program takes of the processor and of memory.
pub(crate) fn programs(bench: &Bench, deployment: &Deployment, samples: &[Sample]) -> Outcome<String> {
    let mut rows = Vec::new();
    for (at, (name, _)) in samples.first().map_or(&[][..], |sample| &sample.cpu).iter().enumerate() {
        let program = deployment.programs.iter().find(|(known, _)| known == name);
        let (now, peak) = match program {
            Some((_, program)) => {
                let memory = usage::memory_of(program.id())?;
                (figure(memory.now), figure(memory.peak))
            }
            None if name == POSTGRES => (figure(usage::memory_of_server(bench.postmaster())?), "-".to_owned()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        rows.push(vec![name.clone(), spread(samples.iter().map(|sample| sample.cpu[at].1)), now, peak]);
    }
    let all = samples.iter().map(|sample| sample.cpu.iter().map(|(_, micros)| micros).sum());
    rows.push(vec!["all".to_owned(), spread(all), "-".to_owned(), "-".to_owned()]);
    Ok(table(&["program", "CPU us per payment", "MiB afterwards", "MiB at most"], &rows))
}

/// What the threads of the all-in-one take of the processor; empty when it was not measured.
pub(crate) fn threads(samples: &[Sample]) -> String {
    let Some(last) = samples.last().filter(|sample| !sample.threads.is_empty()) else {
        return String::new();
    };
    let mut threads: Vec<_> = last.threads.iter().filter(|(_, micros)| *micros >= THREAD_MIN).collect();
    threads.sort_by(|one, other| other.1.total_cmp(&one.1));
    let rows: Vec<_> = threads.into_iter().map(|(name, micros)| vec![name.clone(), figure(*micros)]).collect();
    format!("\n{}", table(&["threads of the all-in-one, last run", "CPU us per payment"], &rows))
}

/// What PostgreSQL did in the last run; empty when it was not counted.
pub(crate) fn statements(samples: &[Sample]) -> String {
    let Some(last) = samples.last().filter(|sample| !sample.statements.is_empty()) else {
        return String::new();
    };
    format!("\n{}", statements::show(&last.statements, last.report.payments))
}

/// A line for everything that should not have happened; empty when nothing did.
pub(crate) fn troubles(samples: &[Sample]) -> String {
    samples.iter().enumerate().map(|(at, sample)| troubles_of(at + 1, &sample.report.troubles)).collect()
}

fn troubles_of(run: usize, troubles: &Troubles) -> String {
    let Troubles { refused, first_refusal, lost, again, disordered, forged, strange } = troubles;
    let refusal = first_refusal.as_deref().unwrap_or_default();
    let lines = [
        (*refused, format!("calls were refused or not answered; the first: {refusal}")),
        (*lost, "payments were submitted without an ORDER_PROCESSED in time".to_owned()),
        (*again, "notifications came again".to_owned()),
        (*disordered, "notifications came out of order".to_owned()),
        (*forged, "notifications had a wrong signature".to_owned()),
        (*strange, "notifications were of no known event or payment".to_owned()),
    ];
    let seen = lines.into_iter().filter(|(number, _)| *number > 0);
    seen.map(|(number, what)| format!("WARNING: in run {run} {number} {what}.\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::payments::talk::{Report, Step};

    fn sample(payments: u64, p50: f64) -> Sample {
        let steps = vec![Step { name: "create".to_owned(), p50, p99: 9.0, max: 10.0 }];
        let report = Report { payments, seconds: 2.0, steps, ..Report::default() };
        let threads = vec![("webhooks".to_owned(), 12.0), ("idle".to_owned(), 0.0)];
        Sample { report, cpu: Vec::new(), threads, statements: Vec::new(), load1: 0.5 }
    }

    #[test]
    fn every_run_stands_beside_the_median() {
        let text = runs(&[sample(200, 3.0), sample(800, 1.0), sample(600, 2.0)]);
        let cells = |line: usize| -> Vec<&str> { text.lines().nth(line).unwrap().split('|').map(str::trim).collect() };
        assert_eq!(cells(2)[1..6], ["payments per second", "100", "400", "300", "300"]);
        assert_eq!(cells(3)[1..6], ["create, p50 ms", "3.00", "1.00", "2.00", "2.00"]);
    }

    #[test]
    fn threads_that_do_nothing_are_left_out() {
        let text = threads(&[sample(1, 1.0)]);
        assert!(text.contains("webhooks") && !text.contains("idle"), "{text}");
    }

    #[test]
    fn nothing_that_went_wrong_is_passed_over() {
        assert_eq!(troubles_of(1, &Troubles::default()), "");
        let refusal = Some("POST /v1/session: 503".to_owned());
        let troubles = Troubles { refused: 2, first_refusal: refusal, lost: 1, ..Troubles::default() };
        let text = troubles_of(3, &troubles);
        assert!(
            text.contains("in run 3 2 calls") && text.contains("503") && text.contains("1 payments were"),
            "{text}"
        );
    }
}
