//! The operator's file of the countries of IP addresses.

use std::sync::Arc;

use dropin_boot::{Failure, IpCountriesArgs};
use dropin_ip_countries::IpCountryFile;
use dropin_private_file::watch;

/// Reads the file, where there is one, and again whenever it changes.
///
/// # Errors
/// The file cannot be used, or the system gives no thread.
pub(crate) fn open(settings: &IpCountriesArgs) -> Result<Option<Arc<IpCountryFile>>, Failure> {
    let Some(path) = &settings.ip_countries else { return Ok(None) };
    let file = IpCountryFile::open(path).map_err(|error| format!("DROPIN_IP_COUNTRIES: {error}"))?;
    let file = Arc::new(file);
    watch("ip-countries", vec![path.clone()], &file, |file| match file.reload() {
        Ok(()) => log::info!("read DROPIN_IP_COUNTRIES again: payments are screened by its countries"),
        Err(error) => {
            log::error!(
                "DROPIN_IP_COUNTRIES has changed and cannot be used: {error}; what was read before stays in use"
            );
        }
    })?;
    Ok(Some(file))
}

#[cfg(test)]
#[path = "../../../crates/adapters/ip-countries/tests/mmdb/mod.rs"]
mod mmdb;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use dropin_ports::IpCountries;

    use super::mmdb::{database, of_country};
    use super::*;

    #[test]
    fn a_file_that_changes_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        let put = |code: &str| {
            let next = path.with_extension("next");
            std::fs::write(&next, database(4, &[("192.0.2.0", 24, of_country(code))])).unwrap();
            std::fs::rename(next, &path).unwrap();
        };
        put("AT");
        let file = open(&IpCountriesArgs { ip_countries: Some(path.clone()) }).unwrap().unwrap();
        let code = || file.country_of("192.0.2.7".parse().unwrap()).map(|country| country.to_string());
        assert_eq!(code().as_deref(), Some("AT"));
        // A damaged one in between changes nothing, and the next one is looked at all the same.
        std::fs::write(&path, "<html>").unwrap();
        put("PT");
        let begun = Instant::now();
        while code().as_deref() != Some("PT") {
            assert!(begun.elapsed() < Duration::from_secs(20), "still {:?}", code());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_stops_the_start_and_none_is_none() {
        assert!(open(&IpCountriesArgs::default()).unwrap().is_none());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        let settings = IpCountriesArgs { ip_countries: Some(path.clone()) };
        let refused = || open(&settings).map(|opened| opened.is_some()).expect_err("refused").to_string();
        assert!(refused().starts_with("DROPIN_IP_COUNTRIES: cannot read"), "{}", refused());
        std::fs::write(path, "<html>").unwrap();
        assert!(refused().contains("no complete file of the MaxMind DB format"), "{}", refused());
    }
}
