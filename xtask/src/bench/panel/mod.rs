//! `cargo xtask bench panel`: how fast the pages of the admin panel are when very many Orders are stored, and what payments beside them lose.

mod operator;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use super::figures::{figure, percentile, table};
use super::fill::{Copies, fill};
use super::goal;
use super::payments::client::PaymentFlow;
use super::payments::site::Site;
use super::payments::{self, SiteOptions};
use crate::failure::{Context, Failure, Outcome};
use crate::http1::Client;
use crate::programs::{Programs, free_address};

/// Operators, each of whom opens a page every second.
const OPERATORS: usize = 20;
const PAGE_INTERVAL: Duration = Duration::from_secs(1);
/// Payments per second beside them.
const PAYMENTS_PER_SECOND: u32 = 200;
const P99_MAX_MS: f64 = 100.0;
const LOSS_MAX: f64 = 0.05;

/// Copies are spread over the last hundred days.
const ORDERS: Copies<'static> = Copies {
    what: "Orders",
    postgres: include_str!("fill_postgres.sql"),
    sqlite: include_str!("fill_sqlite.sql"),
    columns: "merchant_id, revision, state, under_review, shown, currency, total_minor, authorized_minor, captured_minor, \
              capture_pending_minor, refunded_minor, refund_pending_minor, auto_capture, payment_method, card_last_four",
    time_max: Duration::MAX,
};

/// Pages that an operator opens in turn; `@ORDER@` and `@SESSION@` stand for one that was paid.
const PAGES: &[&str] = &[
    "/",
    "/?days=30",
    "/orders",
    "/orders?state=DECLINED",
    "/orders?reference=filled-4711",
    "/orders?email=nobody%40shop.example",
    "/orders?last_four=4242",
    "/orders?currency=JPY",
    "/orders/@ORDER@",
    "/sessions",
    "/sessions/@SESSION@",
    "/review",
    "/operations",
    "/notifications",
    "/notifications?state=PARKED",
    "/merchants",
    "/audit",
    "/operators",
];

/// Measures payments at a fixed rate, has copies in SQL of an Order make up a great number over a hundred days, measures the payments again, and once
/// more while twenty operators each open a page of the panel every second.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    site: SiteOptions,
    /// Orders that are stored [default: 5,000,000; 20,000 with --quick]
    #[arg(long)]
    stored: Option<u64>,
}

/// Runs the task.
pub(crate) fn task(options: &Options) -> Outcome<()> {
    let site_options = options.site.at_rate(PAYMENTS_PER_SECOND).with_program("admin-panel");
    payments::run(&site_options, &[], &[PaymentFlow::DropIn], |bench, site, _rates| {
        site.stop(bench)?;
        let stored = options.stored.unwrap_or(if options.site.run.quick { 20_000 } else { 5_000_000 });
        fill(bench, &site.deployment, &ORDERS, 0, stored)?;
        measure(bench, &site_options, site)
    })
}

fn measure(bench: &mut Programs, options: &SiteOptions, site: &mut Site) -> Outcome<()> {
    let address = free_address()?;
    site.start_with_panel(bench, address)?;
    let invited = site.deployment.command(bench, super::deployment::ALL_IN_ONE);
    let cookie = operator::sign_up(invited, address)?;
    let one = |what: &str| {
        let sql = format!("SELECT {what} FROM purchase_order WHERE session_id IS NOT NULL LIMIT 1");
        site.deployment.sql(bench, &sql).map(|said| said.trim().to_owned())
    };
    let (order, session) = (one("id")?, one("session_id")?);
    let pages: Vec<String> =
        PAGES.iter().map(|page| page.replace("@ORDER@", &order).replace("@SESSION@", &session)).collect();
    let alone = payments::rate(bench, options, site)?;
    let stop = AtomicBool::new(false);
    let (beside, opened) = std::thread::scope(|scope| {
        let operators: Vec<_> = (0..OPERATORS)
            .map(|number| {
                let (pages, cookie, stop) = (&pages, &cookie, &stop);
                scope.spawn(move || open_pages(Client::connect(address, "")?, cookie, number, pages, stop))
            })
            .collect();
        let beside = payments::rate(bench, options, site);
        stop.store(true, Ordering::Relaxed);
        let opened: Outcome<Vec<_>> = operators
            .into_iter()
            .map(|operator| operator.join().map_err(|_panicked| Failure::new("an operator broke"))?)
            .collect();
        Ok::<_, Failure>((beside?, opened?))
    })?;
    let stored = site.deployment.number(bench, "SELECT count(*) FROM purchase_order")?;
    show(&pages, opened.into_iter().flatten(), stored, alone, beside);
    Ok(())
}

/// The pages that were opened, by their number, and what each took in microseconds.
fn open_pages(
    mut client: Client,
    cookie: &str,
    number: usize,
    pages: &[String],
    stop: &AtomicBool,
) -> Outcome<Vec<(usize, u64)>> {
    let (mut opened, headers) = (Vec::new(), format!("Cookie: {cookie}\r\n"));
    // Nobody begins with the same page at the same moment.
    std::thread::sleep(PAGE_INTERVAL.mul_f64(number as f64 / OPERATORS as f64));
    for page in (0..pages.len()).cycle().skip(number * pages.len() / OPERATORS) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let began = Instant::now();
        let (status, body) = client.exchange("GET", &pages[page], &headers, "")?;
        let took = began.elapsed();
        if status != 200 {
            return Err(Failure::new(format!("{} answered {status}: {body}", pages[page])));
        }
        opened.push((page, u64::try_from(took.as_micros()).context(|| "tell the time of a page".to_owned())?));
        std::thread::sleep(PAGE_INTERVAL.saturating_sub(took));
    }
    Ok(opened)
}

fn show(pages: &[String], opened: impl Iterator<Item = (usize, u64)>, stored: u64, alone: f64, beside: f64) {
    let mut micros = vec![Vec::new(); pages.len()];
    let mut every = Vec::new();
    for (page, took) in opened {
        micros[page].push(took);
        every.push(took);
    }
    let shown = |all: &mut Vec<u64>, percent| {
        all.sort_unstable();
        percentile(all, percent).map_or_else(|| "-".to_owned(), figure)
    };
    let rows = PAGES.iter().zip(&mut micros).map(|(page, all)| {
        let count = all.len().to_string();
        vec![(*page).to_owned(), count, shown(all, 50), shown(all, 99), shown(all, 100)]
    });
    println!("\n### Pages of the panel, {stored} Orders stored, {OPERATORS} operators, beside payments\n");
    println!("{}", table(&["page", "opened", "p50 ms", "p99 ms", "longest ms"], &rows.collect::<Vec<_>>()));
    every.sort_unstable();
    let p99 = percentile(&every, 99).unwrap_or_default();
    let worst = micros.iter().filter_map(|all| percentile(all, 99)).fold(0.0, f64::max);
    print!(
        "{}",
        goal(
            worst <= P99_MAX_MS,
            &format!("p99 of all pages {p99:.1} ms, of the slowest one {worst:.1} ms; wanted: {P99_MAX_MS} ms")
        )
    );
    let loss = 1.0 - beside / alone.max(f64::MIN_POSITIVE);
    let told = format!(
        "{beside:.1} payments per second beside them, {alone:.1} without; wanted: at most {LOSS_MAX:.0}% less",
        LOSS_MAX = LOSS_MAX * 100.0
    );
    print!("{}", goal(loss <= LOSS_MAX, &told));
}
