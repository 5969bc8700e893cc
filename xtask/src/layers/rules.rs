//! What `layers.toml` allows, and the comparison of what is with it. Every violation says what to change.

use std::path::Path;

use serde::Deserialize;

use super::graph::Closure;
use super::workspace::Package;
use crate::failure::{Context, Outcome};

/// Features that change what numbers mean, for the whole program, as soon as one crate turns them on.
const BANNED_FEATURES: [(&str, &str, &str); 2] = [
    ("serde_json", "arbitrary_precision", "it changes how every number in the program is read"),
    ("bigdecimal", "serde-json", "it turns serde_json/arbitrary_precision on; amounts are written by dropin-wire"),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) layer: Vec<Layer>,
    pub(crate) only: Vec<Only>,
    pub(crate) excused: Vec<Excused>,
    #[serde(default)]
    pub(crate) shared: Vec<SharedName>,
    /// Packages whose files import each other in no circle.
    #[serde(default)]
    pub(crate) no_circles: Vec<String>,
}

/// Names of public items that several packages may have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedName {
    pub(crate) names: Vec<String>,
    /// What they mean in each of them.
    pub(crate) reason: String,
}

/// A group of packages with the same rights.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    pub(crate) name: String,
    /// Packages at or below this folder belong here, unless a longer folder claims them.
    pub(crate) folder: String,
    /// Layers and single packages that may be in the closure.
    pub(crate) sees: Vec<String>,
    /// Foreign crates that may not be in the closure; a trailing `*` matches any ending.
    pub(crate) forbids: Vec<String>,
}

/// A foreign crate that only the owners may declare.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Only {
    #[serde(rename = "crate")]
    pub(crate) name: String,
    pub(crate) owners: Vec<String>,
    pub(crate) reason: String,
}

/// Edges between foreign crates that are not followed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Excused {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) reason: String,
}

impl Table {
    /// Reads the table from the root of the workspace.
    pub(crate) fn read(root: &Path) -> Outcome<Self> {
        let path = root.join("layers.toml");
        let text = std::fs::read_to_string(&path).context(|| format!("read {}", path.display()))?;
        toml::from_str(&text).context(|| format!("understand {}", path.display()))
    }

    /// The layer of a package by its folder (relative to the root): the longest one that matches.
    pub(crate) fn layer_of(&self, folder: &Path) -> Option<&Layer> {
        let matching = self.layer.iter().filter(|layer| folder.starts_with(&layer.folder));
        matching.max_by_key(|layer| layer.folder.len())
    }
}

/// Whether `name` is what `pattern` means.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// Compares one package's closure with the rights of its layer.
pub(crate) fn check_closure(table: &Table, packages: &[Package], package: &Package, closure: &Closure) -> Vec<String> {
    let Some(layer) = table.layer_of(&package.folder) else {
        return vec![format!(
            "{} lies in {}, which belongs to no layer: move it or add a [[layer]] to layers.toml",
            package.name,
            package.folder.display()
        )];
    };
    let ways = closure.ways(&table.excused);
    let mut violations = Vec::new();
    for (name, way) in ways.iter().filter(|(name, _)| **name != package.name) {
        let way = way.join(" -> ");
        match packages.iter().find(|other| other.name == *name) {
            Some(other) if !sees(table, layer, other) => violations.push(format!(
                "{}: layer `{}` may not know {name} ({way}): remove that edge; `sees` of the layer lists what it may know",
                package.name, layer.name
            )),
            None if layer.forbids.iter().any(|pattern| matches(pattern, name)) => violations.push(format!(
                "{}: layer `{}` forbids {name} ({way}): move the code that needs it to a layer that may have it",
                package.name, layer.name
            )),
            _ => {}
        }
    }
    violations
}

fn sees(table: &Table, layer: &Layer, other: &Package) -> bool {
    let its_layer = table.layer_of(&other.folder).map(|layer| &layer.name);
    layer.sees.iter().any(|name| *name == other.name || Some(name) == its_layer)
}

/// Crates that only some packages may declare.
pub(crate) fn check_owners(table: &Table, packages: &[Package]) -> Vec<String> {
    let mut violations = Vec::new();
    for rule in &table.only {
        let declaring = packages.iter().filter(|package| package.declares(&rule.name));
        for package in declaring.filter(|package| !rule.owners.contains(&package.name)) {
            violations.push(format!(
                "{} declares {}, which only {} may: {}",
                package.name,
                rule.name,
                rule.owners.join(", "),
                rule.reason
            ));
        }
    }
    violations
}

/// Mistakes of the table itself: unknown names, and excuses for edges that are gone.
pub(crate) fn check_table(table: &Table, packages: &[Package], closures: &[Closure]) -> Vec<String> {
    let is_package = |name: &String| packages.iter().any(|package| package.name == *name);
    let is_layer = |name: &String| table.layer.iter().any(|layer| layer.name == *name);
    let mut violations = Vec::new();
    for layer in &table.layer {
        for name in layer.sees.iter().filter(|name| !is_layer(name) && !is_package(name)) {
            violations.push(format!("layers.toml: `{name}`, seen by layer `{}`, is no layer or package", layer.name));
        }
        if !packages.iter().any(|package| package.folder.starts_with(Path::new(&layer.folder))) {
            violations.push(format!("layers.toml: layer `{}` has no package: remove it or fix its folder", layer.name));
        }
    }
    for name in table.only.iter().flat_map(|rule| &rule.owners).filter(|name| !is_package(name)) {
        violations.push(format!("layers.toml: owner `{name}` is no package of the workspace"));
    }
    for name in table.no_circles.iter().filter(|name| !is_package(name)) {
        violations.push(format!("layers.toml: `{name}`, without circles, is no package of the workspace"));
    }
    for excuse in &table.excused {
        for to in excuse.to.iter().filter(|to| !closures.iter().any(|closure| closure.has_edge(&excuse.from, to))) {
            violations.push(format!(
                "layers.toml: {} does not depend on {to} any more: remove the excuse (\"{}\")",
                excuse.from, excuse.reason
            ));
        }
    }
    violations
}

/// Features of domain crates that the tests of the whole workspace leave off: what stands under them would be compiled and never run.
pub(crate) fn check_tested(packages: &[Package], on: &[(String, String)]) -> Vec<String> {
    let domain = packages.iter().filter(|package| package.folder.starts_with("crates/domain"));
    let features = domain.flat_map(|package| package.features.keys().map(move |feature| (&package.name, feature)));
    let off = features.filter(|(name, feature)| !on.iter().any(|(n, f)| n == *name && f == *feature));
    let told = |(name, feature)| {
        format!("the tests run without {name}/{feature}: turn it on among the [dependencies] of tests/Cargo.toml")
    };
    off.map(told).collect()
}

/// Features that nobody may turn on.
pub(crate) fn check_features(features: &[(String, String)]) -> Vec<String> {
    let on = |name: &str, feature: &str| features.iter().any(|(n, f)| n == name && f == feature);
    let banned = BANNED_FEATURES.iter().filter(|(name, feature, _)| on(name, feature));
    let told = banned.map(|(name, feature, reason)| {
        format!(
            "the feature {name}/{feature} is on and must not be: {reason}. Find who turns it on with \
             `cargo tree --workspace --edges features --invert {name}`"
        )
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::workspace::Dependency;

    const TABLE: &str = r#"
        [[layer]]
        name = "domain"
        folder = "crates/domain"
        sees = ["domain"]
        forbids = ["serde", "actix*"]
        [[layer]]
        name = "adapters"
        folder = "crates/adapters"
        sees = ["domain"]
        forbids = []
        [[only]]
        crate = "diesel"
        owners = ["store"]
        reason = "SQL lives in the store"
        [[excused]]
        from = "validator"
        to = ["serde"]
        reason = "nothing is serialised"
    "#;

    fn table() -> Table {
        toml::from_str(TABLE).unwrap()
    }

    fn package(name: &str, folder: &str, declares: &[&str]) -> Package {
        let owned = |name: &&str| Dependency { name: (*name).to_owned(), kind: None };
        let dependencies = declares.iter().map(owned).collect();
        Package { name: name.to_owned(), folder: folder.into(), dependencies, ..Package::default() }
    }

    fn workspace() -> Vec<Package> {
        vec![
            package("money", "crates/domain/money", &[]),
            package("order", "crates/domain/order", &["money"]),
            package("store", "crates/adapters/store", &["diesel"]),
            package("mailer", "crates/adapters/mailer", &[]),
        ]
    }

    fn found(index: usize, tree: &str) -> Vec<String> {
        let packages = workspace();
        check_closure(&table(), &packages, &packages[index], &Closure::parse(tree).unwrap())
    }

    #[test]
    fn an_allowed_closure_passes() {
        assert_eq!(found(1, "0 order v1\n1 money v1\n2 bigdecimal v1\n1 validator v1\n2 serde v1\n"), [""; 0]);
    }

    #[test]
    fn a_forbidden_crate_is_found_with_the_way_to_it() {
        let violations = found(1, "0 order v1\n1 money v1\n2 helper v1\n3 actix-web v4\n1 validator v1\n2 serde v1\n");
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].contains("forbids actix-web (order -> money -> helper -> actix-web)"), "{violations:?}");
    }

    #[test]
    fn an_excuse_covers_its_own_edge_only() {
        let violations = found(1, "0 order v1\n1 validator v1\n2 serde v1\n1 serde v1\n");
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].contains("(order -> serde)"), "{violations:?}");
    }

    #[test]
    fn domain_may_not_know_adapters_and_adapters_not_each_other() {
        assert!(found(0, "0 money v1\n1 store v1\n")[0].contains("layer `domain` may not know store"));
        assert!(found(3, "0 mailer v1\n1 money v1\n1 store v1\n")[0].contains("layer `adapters` may not know store"));
    }

    #[test]
    fn a_package_without_a_layer_is_found() {
        let stray = package("stray", "crates/stray", &[]);
        let violations = check_closure(&table(), &workspace(), &stray, &Closure::parse("0 stray v1\n").unwrap());
        assert!(violations[0].contains("belongs to no layer"), "{violations:?}");
    }

    #[test]
    fn only_owners_declare_an_owned_crate() {
        let mut packages = workspace();
        assert_eq!(check_owners(&table(), &packages), [""; 0]);
        packages.push(package("sneak", "crates/adapters/sneak", &["diesel"]));
        assert_eq!(
            check_owners(&table(), &packages),
            ["sneak declares diesel, which only store may: SQL lives in the store"]
        );
    }

    #[test]
    fn a_stale_excuse_and_unknown_names_are_found() {
        let used = Closure::parse("0 order v1\n1 validator v1\n2 serde v1\n").unwrap();
        assert_eq!(check_table(&table(), &workspace(), &[used]), [""; 0]);
        let mut table = table();
        table.layer[0].sees.push("nobody".to_owned());
        table.no_circles = vec!["order".to_owned(), "odrer".to_owned()];
        let unused = Closure::parse("0 order v1\n1 validator v1\n").unwrap();
        let violations = check_table(&table, &workspace(), &[unused]);
        assert_eq!(violations.len(), 3, "{violations:?}");
        assert!(violations[0].contains("`nobody`") && violations[1].contains("`odrer`"), "{violations:?}");
        assert!(violations[2].contains("remove the excuse"), "{violations:?}");
    }

    fn on(name: &str, feature: &str) -> (String, String) {
        (name.to_owned(), feature.to_owned())
    }

    #[test]
    fn a_feature_that_no_test_runs_with_is_found() {
        let features = ["serde", "more"].map(|feature| (feature.to_owned(), Vec::new())).into();
        let packages = [Package { features, ..package("order", "crates/domain/order", &[]) }];
        let all = [on("order", "serde"), on("money", "more"), on("order", "more")];
        assert_eq!(check_tested(&packages, &all), [""; 0]);
        let found = check_tested(&packages, &all[..2]);
        assert!(found.len() == 1 && found[0].contains("without order/more"), "{found:?}");
    }

    #[test]
    fn a_banned_feature_is_found() {
        assert_eq!(check_features(&[on("serde_json", "raw_value")]), [""; 0]);
        assert_eq!(check_features(&[on("serde_json", "arbitrary_precision")]).len(), 1);
        assert_eq!(check_features(&[on("bigdecimal", "serde-json")]).len(), 1);
    }
}
