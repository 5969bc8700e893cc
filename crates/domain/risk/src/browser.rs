//! What a browser says of its country.

use dropin_validation::Country;

/// A line has a country and a zone.
const TIME_ZONES: &str = include_str!("time_zones.txt");

/// The country that a time zone of the tz database lies in, by any of its names. `None` for a zone of several countries, such as `Europe/Berlin`, and for what
/// is no zone of a country.
///
/// ```
/// use dropin_risk::time_zone_country;
///
/// assert_eq!(time_zone_country("Europe/Vienna"), "AT".parse().ok());
/// assert_eq!(time_zone_country("Asia/Calcutta"), time_zone_country("Asia/Kolkata"));
/// assert_eq!(time_zone_country("Europe/Berlin"), None, "Denmark, Norway and Sweden keep the same time");
/// assert_eq!(time_zone_country("UTC"), None);
/// ```
pub fn time_zone_country(zone: &str) -> Option<Country> {
    let countries = TIME_ZONES.lines().filter_map(|line| line.split_once(' '));
    let (country, _zone) = countries.into_iter().find(|(_country, name)| *name == zone)?;
    country.parse().ok()
}

/// The country that a language tag names (BCP 47), as browsers send it. `None` where it names none: a language alone tells no country.
///
/// ```
/// use dropin_risk::language_country;
///
/// assert_eq!(language_country("de-AT"), "AT".parse().ok());
/// assert_eq!(language_country("zh-Hant-TW"), "TW".parse().ok());
/// assert_eq!(language_country("de"), None);
/// assert_eq!(language_country("es-419"), None, "a region of many countries");
/// ```
pub fn language_country(tag: &str) -> Option<Country> {
    let is_word = |subtag: &str| subtag.bytes().all(|byte| byte.is_ascii_alphabetic());
    let mut subtags = tag.split(['-', '_']);
    subtags.next().filter(|language| (2..=8).contains(&language.len()) && is_word(language))?;
    // An extended language has three letters and a script four; what comes after the region names none.
    let region = subtags.find(|subtag| !(matches!(subtag.len(), 3 | 4) && is_word(subtag)))?;
    region.to_ascii_uppercase().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn country(code: &str) -> Option<Country> {
        Some(code.parse().unwrap())
    }

    #[test]
    fn every_line_is_a_country_and_a_zone() {
        let lines: Vec<_> = TIME_ZONES.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(400 < lines.len(), "{}", lines.len());
        for line in lines {
            let (code, zone) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            assert_eq!(time_zone_country(zone), country(code), "{zone}");
            let letters = |c: char| c.is_ascii_alphanumeric() || "/_-".contains(c);
            assert!(zone.contains('/') && zone.chars().all(letters), "{zone}");
        }
    }

    #[test]
    fn zones_of_one_country_have_it_by_every_name() {
        for (zone, code) in [
            ("America/New_York", "US"),
            ("America/Argentina/Buenos_Aires", "AR"),
            ("America/Buenos_Aires", "AR"),
            ("Asia/Saigon", "VN"),
            ("Europe/Kiev", "UA"),
            ("Europe/Kyiv", "UA"),
            ("Europe/Stockholm", "SE"),
            ("Europe/Amsterdam", "NL"),
            ("Europe/Busingen", "DE"),
            ("Atlantic/Reykjavik", "IS"),
        ] {
            assert_eq!(time_zone_country(zone), country(code), "{zone}");
        }
    }

    #[test]
    fn what_several_countries_share_tells_none() {
        for zone in
            ["Europe/Berlin", "Europe/London", "Europe/Zurich", "Africa/Lagos", "Asia/Bangkok", "America/Toronto"]
        {
            assert_eq!(time_zone_country(zone), None, "{zone}");
        }
        for odd in
            ["", "#", "AT", "Vienna", "europe/vienna", "Europe/Vienna ", "Etc/UTC", "GMT", "CET", "Time", "zones"]
        {
            assert_eq!(time_zone_country(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_tag_names_a_country_or_none() {
        for (tag, code) in [
            ("de-AT", "AT"),
            ("de_AT", "AT"),
            ("en-us", "US"),
            ("zh-Hans-CN", "CN"),
            ("zh-cmn-Hans-CN", "CN"),
            ("de-CH-1996", "CH"),
        ] {
            assert_eq!(language_country(tag), country(code), "{tag}");
        }
        for none in [
            "",
            "-",
            "d-AT",
            "d3-AT",
            "AT",
            "de-",
            "de--AT",
            "de-1996-AT",
            "de-x-AT",
            "x-AT",
            "en-XX",
            "de-a1",
            "einviel-zulanges",
        ] {
            assert_eq!(language_country(none), None, "{none}");
        }
        assert_eq!(language_country(&"aaa-".repeat(100_000)), None);
    }
}
