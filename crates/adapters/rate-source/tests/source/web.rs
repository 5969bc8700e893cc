use std::time::Duration;

use dropin_ecb_rates::MAX_BYTES;
use dropin_money::Currency;
use dropin_ports::{RateSource, RateSourceError, SourceFailure};
use dropin_rate_source::{FileRateSource, Location, RateSourceConfig};
use dropin_rates::{RateSourceLimits, Source, Table};
use time::macros::date;

use super::server::{Server, answer};
use super::{FRIDAY, daily_xml, on, price};

fn source(address: &str) -> FileRateSource {
    let primary = Location::parse(address).unwrap();
    FileRateSource::new(RateSourceConfig::Files { primary, supplement: None }, RateSourceLimits::default())
}

/// What a single answer comes to.
async fn outcome(single: Vec<u8>) -> Result<Option<String>, RateSourceError> {
    let server = Server::start(vec![single]).await;
    let refreshed =
        source(&server.address).with_deadline(Duration::from_secs(20)).refresh(&Table::default(), on(FRIDAY)).await;
    match <[SourceFailure; 1]>::try_from(refreshed.failures) {
        Ok([failure]) => {
            assert_eq!(failure.source, Source::Primary);
            assert!(!failure.error.to_string().contains("secret"), "{}", failure.error);
            Err(failure.error)
        }
        Err(none) => {
            assert_eq!(none, []);
            Ok(price(&refreshed.table, Currency::Usd))
        }
    }
}

#[actix_web::test]
async fn a_file_is_asked_for_with_what_is_known_of_it() {
    let (first, second) = (daily_xml("2026-11-19", &[("USD", "1.1")]), daily_xml("2026-11-20", &[("USD", "1.2")]));
    let validators = "ETag: \"v1\"\r\nLast-Modified: Thu, 19 Nov 2026 15:00:00 GMT\r\n";
    let mut server = Server::start(vec![
        answer("200 OK", validators, &first),
        answer("304 Not Modified", "", ""),
        answer("500 Internal Server Error", "", "later"),
        answer("200 OK", "", &second),
        answer("200 OK", "", &second),
    ])
    .await;
    let source = source(&server.address);
    let mut table = Table::default();
    let steps = [(true, "1.1", 0), (false, "1.1", 0), (false, "1.1", 1), (true, "1.2", 0), (false, "1.2", 0)];
    for (step, (changed, usd, failures)) in steps.into_iter().enumerate() {
        let refreshed = source.refresh(&table, on(FRIDAY)).await;
        assert_eq!((refreshed.changed, refreshed.failures.len()), (changed, failures), "step {step}");
        table = refreshed.table;
        assert_eq!(price(&table, Currency::Usd).as_deref(), Some(usd), "step {step}");
    }
    assert!(!server.request().contains("if-"));
    for _ in 0..3 {
        let request = server.request();
        assert!(request.contains("if-none-match: \"v1\"\r\n"), "{request}");
        assert!(request.contains("if-modified-since: thu, 19 nov 2026 15:00:00 gmt\r\n"), "{request}");
        assert!(request.contains("user-agent: dropin/"), "{request}");
    }
    assert!(!server.request().contains("if-"), "the newest answer came without validators");
}

#[actix_web::test]
async fn nothing_is_lost_when_the_caller_could_not_keep_it() {
    let file = daily_xml("2026-11-20", &[("USD", "1.1")]);
    let server = Server::start(vec![
        answer("200 OK", "ETag: \"v1\"\r\n", &file),
        answer("304 Not Modified", "", ""),
        answer("503 Service Unavailable", "", ""),
    ])
    .await;
    let source = source(&server.address);
    for _ in 0..3 {
        let refreshed = source.refresh(&Table::default(), on(FRIDAY)).await;
        assert_eq!((refreshed.changed, price(&refreshed.table, Currency::Usd).as_deref()), (true, Some("1.1")));
    }
}

#[actix_web::test]
async fn a_file_that_is_wrong_is_asked_for_again() {
    let mut server = Server::start(vec![
        answer("200 OK", "ETag: \"v1\"\r\n", "<html>"),
        answer("200 OK", "", &daily_xml("2026-11-20", &[("USD", "1.1")])),
    ])
    .await;
    let source = source(&server.address);
    assert_eq!(source.refresh(&Table::default(), on(FRIDAY)).await.failures.len(), 1);
    assert_eq!(source.refresh(&Table::default(), on(FRIDAY)).await.failures.len(), 0);
    server.request();
    assert!(!server.request().contains("if-none-match"), "what could not be used is not known");
}

#[actix_web::test]
async fn other_answers_than_a_file() {
    let good = daily_xml("2026-11-20", &[("USD", "1.1")]);
    assert_eq!(outcome(answer("200 OK", "", &good)).await, Ok(Some("1.1".to_owned())));
    for (status, code) in [("301 Moved Permanently", 301), ("302 Found", 302), ("307 Temporary Redirect", 307)] {
        let moved = answer(status, "Location: http://127.0.0.1:9/\r\n", &good);
        assert_eq!(outcome(moved).await, Err(RateSourceError::Status(code)));
    }
    for (status, code) in [("404 Not Found", 404), ("206 Partial Content", 206), ("304 Not Modified", 304)] {
        assert_eq!(outcome(answer(status, "", "")).await, Err(RateSourceError::Status(code)));
    }
    assert!(matches!(outcome(answer("200 OK", "", "<html/>")).await, Err(RateSourceError::Malformed(_))));
    assert!(matches!(outcome(b"what?\r\n\r\n".to_vec()).await, Err(RateSourceError::Unreachable(_))));
}

#[actix_web::test]
async fn answers_that_do_not_end_well() {
    let good = daily_xml("2026-11-20", &[("USD", "1.1")]);
    let unreachable = |why: &str| Err(RateSourceError::Unreachable(why.to_owned()));
    let mut short = answer("200 OK", "", &good);
    short.truncate(short.len() - 5);
    assert_eq!(outcome(short).await, unreachable("the answer broke off"));
    // Without a length, only the file itself can tell.
    let endless = format!("HTTP/1.0 200 OK\r\n\r\n{}", &good[..good.len() - 5]);
    assert!(matches!(outcome(endless.into_bytes()).await, Err(RateSourceError::Malformed(_))));
    let chunk = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{good}\r\n", good.len());
    assert_eq!(outcome(format!("{chunk}0\r\n\r\n").into_bytes()).await, Ok(Some("1.1".to_owned())));
    assert!(outcome(chunk.replace("</gesmes:Envelope>", "").into_bytes()).await.is_err());
    for empty in [answer("200 OK", "", ""), format!("HTTP/1.1 200 OK\r\n\r\n{good}").into_bytes()] {
        assert_eq!(outcome(empty).await, unreachable("the answer is empty or does not say its length"));
    }
    let limit = MAX_BYTES;
    let huge = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", limit + 1);
    assert_eq!(outcome(huge.into_bytes()).await, Err(RateSourceError::TooLarge { limit }));
    let mut more = b"HTTP/1.0 200 OK\r\n\r\n".to_vec();
    more.resize(limit + 1_000, b' ');
    assert_eq!(outcome(more).await, Err(RateSourceError::TooLarge { limit }));
}

#[actix_web::test]
async fn nobody_is_waited_for_beyond_the_deadline() {
    let server = Server::start(vec![Vec::new()]).await;
    let silent = source(&server.address).with_deadline(Duration::from_millis(200));
    let late = silent.refresh(&Table::default(), on(FRIDAY)).await;
    assert_eq!(late.failures[0].error, RateSourceError::Unreachable("no complete answer in time".to_owned()));
    let refused = source("http://127.0.0.1:9/").refresh(&Table::default(), on(FRIDAY)).await;
    assert_eq!(refused.failures[0].error, RateSourceError::Unreachable("the connection was refused".to_owned()));
    assert!(
        refused.table.is_stale(on(date!(2026 - 11 - 20)), &RateSourceLimits::default()) == refused.table.is_empty()
    );
}
