//! Which environment variables the programs know: those that their example files name, which tests compare with the programs.

use std::collections::BTreeSet;

use strsim::damerau_levenshtein;

/// One file may hold the environment of all programs, so what one of them knows is unknown to none.
const EXAMPLES: [&str; 9] = [
    include_str!("../../../../bins/dropin/example.env"),
    include_str!("../../../../bins/session-api/example.env"),
    include_str!("../../../../bins/checkout-api/example.env"),
    include_str!("../../../../bins/stash-api/example.env"),
    include_str!("../../../../bins/notifier/example.env"),
    include_str!("../../../../bins/settler/example.env"),
    include_str!("../../../../bins/admin-panel/example.env"),
    include_str!("../../../../bins/sandbox-processor/example.env"),
    include_str!("../../../../bins/demo-shop/example.env"),
];

/// What every variable of ours begins with; others belong to other programs.
const PREFIX: &str = "DROPIN_";

/// What the repository's own tests and tasks set.
const TEST_PREFIX: &str = "DROPIN_TEST_";

/// A name with more slips of the pen than one in so many characters is another word.
const MIN_CHARS_PER_SLIP: usize = 3;

fn known() -> BTreeSet<&'static str> {
    let lines = EXAMPLES.iter().flat_map(|example| example.lines());
    let named = lines.filter_map(|line| line.strip_prefix('#').unwrap_or(line).split_once('=')).map(|(name, _)| name);
    named.filter(|name| name.starts_with(PREFIX) && !name.contains(' ')).collect()
}

/// A warning for each variable of ours in the environment that no program knows, with the nearest one where one is near.
pub fn unknown_in_environment() -> Vec<String> {
    unknown_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
}

/// A warning for each variable of ours that no program knows, with the nearest one where one is near.
fn unknown_variables(set: impl Iterator<Item = String>) -> Vec<String> {
    let known = known();
    let unknown =
        set.filter(|name| name.starts_with(PREFIX) && !name.starts_with(TEST_PREFIX) && !known.contains(name.as_str()));
    let warn = |name: String| {
        let nearest = known.iter().map(|one| (damerau_levenshtein(one, &name), *one)).min();
        let advice = match nearest {
            Some((slips, one)) if slips * MIN_CHARS_PER_SLIP <= name.len() - PREFIX.len() => {
                format!("did you mean {one}?")
            }
            _ => "docs/settings.md lists those that there are".to_owned(),
        };
        format!("{name} is set, and no program knows it: {advice}")
    };
    unknown.map(warn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_nobody_knows_is_told_with_the_nearest() {
        let set = [
            "DROPIN_LISTENN",
            "DROPIN_LISTEN",
            "DROPIN_TEST_POSTGRES",
            "HOME",
            "DROPIN_STASH_LIFETIME",
            "PROCESSOR_URI",
        ];
        let warnings = unknown_variables(set.into_iter().map(str::to_owned));
        assert_eq!(warnings, ["DROPIN_LISTENN is set, and no program knows it: did you mean DROPIN_LISTEN?"]);
        let far = unknown_variables(["DROPIN_FOO".to_owned()].into_iter());
        assert_eq!(far, ["DROPIN_FOO is set, and no program knows it: docs/settings.md lists those that there are"]);
        let swapped = unknown_variables(["DROPIN_STASH_LIEFTIME".to_owned()].into_iter());
        assert!(swapped[0].ends_with("did you mean DROPIN_STASH_LIFETIME?"), "{swapped:?}");
    }
}
