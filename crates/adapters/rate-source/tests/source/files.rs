use std::path::Path;

use dropin_ecb_rates::MAX_BYTES;
use dropin_money::Currency;
use dropin_ports::{RateSource, RateSourceError};
use dropin_rate_source::{FileRateSource, Location, RateSourceConfig};
use dropin_rates::{Dated, QuoteRefusal, RateSourceLimits, Source, Table};
use time::macros::date;

use super::{FRIDAY, daily_xml, on, price};

fn source(primary: &Path, supplement: Option<&Path>) -> FileRateSource {
    let at = |path: &Path| Location::Path(path.to_path_buf());
    FileRateSource::new(
        RateSourceConfig::Files { primary: at(primary), supplement: supplement.map(at) },
        RateSourceLimits::default(),
    )
}

#[actix_web::test]
async fn the_sandbox_has_a_rate_for_every_currency_for_ever() {
    let far = on(date!(2199 - 12 - 31));
    let refreshed = FileRateSource::new(RateSourceConfig::Sandbox, RateSourceLimits::default())
        .refresh(&Table::default(), far)
        .await;
    assert_eq!((refreshed.refused.len(), refreshed.failures.len()), (0, 0));
    for currency in Currency::ALL {
        assert!(refreshed.table.per_euro(*currency).is_some(), "{currency}");
    }
    assert_eq!(refreshed.table.left_behind(&RateSourceLimits::default()), []);
    assert!(!refreshed.table.is_stale(far, &RateSourceLimits::default()));
}

#[actix_web::test]
async fn files_are_read_again_when_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let (main, second) = (folder.path().join("main.xml"), folder.path().join("second.csv"));
    std::fs::write(&main, daily_xml("2026-11-19", &[("USD", "1.1")])).unwrap();
    std::fs::write(&second, "# Source: our bank\nDate,USD,AED\n2026-11-19,9,4.1\n").unwrap();
    let source = source(&main, Some(&second));
    let first = source.refresh(&Table::default(), on(FRIDAY)).await;
    assert_eq!((first.changed, first.refused.len(), first.failures.len()), (true, 0, 0));
    let prices =
        |table: &Table| [Currency::Usd, Currency::Aed, Currency::Hrk].map(|currency| price(table, currency).unwrap());
    assert_eq!(prices(&first.table), ["1.1", "4.1", "7.5345"]);
    assert!(!source.refresh(&first.table, on(FRIDAY)).await.changed);
    // The same length, at the same moment.
    std::fs::write(&main, daily_xml("2026-11-20", &[("USD", "1.2")])).unwrap();
    let next = source.refresh(&first.table, on(FRIDAY)).await;
    assert_eq!((next.changed, prices(&next.table)), (true, ["1.2", "4.1", "7.5345"].map(str::to_owned)));
    let dollar = next.table.quotes().find(|(currency, _)| *currency == Currency::Usd).unwrap().1;
    assert_eq!((dollar.dated, dollar.source), (Dated::On(FRIDAY), Source::Primary));
}

#[actix_web::test]
async fn one_bad_file_does_not_stop_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let (main, second) = (folder.path().join("main.xml"), folder.path().join("second.csv"));
    std::fs::write(&main, daily_xml("2026-11-20", &[("USD", "1.1")])).unwrap();
    let source = source(&main, Some(&second));
    let refreshed = source.refresh(&Table::default(), on(FRIDAY)).await;
    assert_eq!(price(&refreshed.table, Currency::Usd).as_deref(), Some("1.1"));
    assert_eq!(refreshed.failures[0].source, Source::Supplement);
    assert_eq!(
        refreshed.failures[0].error.to_string(),
        "the file cannot be read (entity not found); check its path and permissions"
    );
    // Half-written: what it said before stays.
    std::fs::write(&main, &daily_xml("2026-11-20", &[("USD", "1.2")])[..300]).unwrap();
    let refreshed = source.refresh(&refreshed.table, on(FRIDAY)).await;
    assert_eq!((refreshed.changed, refreshed.failures.len()), (false, 2));
    assert!(matches!(refreshed.failures[0].error, RateSourceError::Malformed(_)));
}

#[actix_web::test]
async fn refusals_are_reported_until_they_are_settled() {
    let folder = tempfile::tempdir().unwrap();
    let main = folder.path().join("main.csv");
    std::fs::write(&main, "Date,USD,TRY\n2026-11-19,1.1,40\n").unwrap();
    let source = source(&main, None);
    let table = source.refresh(&Table::default(), on(FRIDAY)).await.table;
    std::fs::write(&main, "Date,USD,TRY\n2026-11-20,1.1,4\n2026-11-19,1.1,40\n").unwrap();
    let mut latest = table;
    for _ in 0..2 {
        let refreshed = source.refresh(&latest, on(FRIDAY)).await;
        let refused: Vec<_> = refreshed.refused.iter().map(|quote| (quote.currency, quote.why)).collect();
        assert_eq!(refused, [(Currency::Try, QuoteRefusal::Jump)]);
        latest = refreshed.table;
        assert_eq!(price(&latest, Currency::Try).as_deref(), Some("40"));
    }
    // Somebody repairs the file.
    std::fs::write(&main, "Date,USD,TRY\n2026-11-20,1.1,41\n").unwrap();
    let refreshed = source.refresh(&latest, on(FRIDAY)).await;
    assert_eq!((refreshed.refused.len(), price(&refreshed.table, Currency::Try).as_deref()), (0, Some("41")));
}

#[actix_web::test]
async fn what_is_no_file_or_too_large_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: std::path::PathBuf| async move {
        source(&path, None).refresh(&Table::default(), on(FRIDAY)).await.failures.remove(0).error
    };
    let not_regular = RateSourceError::File("it is no regular file".to_owned());
    assert_eq!(error(folder.path().to_path_buf()).await, not_regular);
    assert_eq!(error("/dev/zero".into()).await, not_regular);
    let large = folder.path().join("large.csv");
    std::fs::File::create(&large).unwrap().set_len(u64::try_from(MAX_BYTES + 1).unwrap()).unwrap();
    assert_eq!(error(large).await, RateSourceError::TooLarge { limit: MAX_BYTES });
}
