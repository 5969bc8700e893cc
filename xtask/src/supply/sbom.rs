//! The software bill of materials: CycloneDX 1.5, as JSON. The same sources give the same bytes: it holds no time and no random number.

use serde_json::{Value, json};

use super::license;
use super::tree::{Id, Package, Tree};
use crate::failure::{Context, Failure, Outcome};

/// The document about `programs`: each package that one of them needs to run, with its version, license, hash and what it needs itself.
pub(super) fn document(tree: &Tree, programs: &[&str]) -> Outcome<String> {
    let is_program = |package: &Package| package.source.is_none() && programs.contains(&package.name.as_str());
    let roots: Vec<_> = tree.packages.iter().filter(|(_, one)| is_program(one)).map(|(id, _)| id.clone()).collect();
    if roots.len() != programs.len() {
        return Err(Failure::new(format!("the workspace has not all of the programs {}", programs.join(", "))));
    }
    let needed = tree.running(roots.clone());
    let of = |id: &Id| tree.packages.get(id).map(reference);
    let components: Vec<_> =
        needed.iter().filter_map(|id| tree.packages.get(id)).map(|one| component(one, is_program(one))).collect();
    let edges = needed.iter().filter_map(|id| {
        let package = tree.packages.get(id)?;
        let on: Vec<_> = package.runs_with.iter().filter_map(of).collect();
        Some(json!({"ref": reference(package), "dependsOn": on}))
    });
    let programs: Vec<_> = roots.iter().filter_map(of).collect();
    let product = json!({"ref": PRODUCT, "dependsOn": programs});
    let dependencies: Vec<_> = [product].into_iter().chain(edges).collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": PRODUCT,
                "name": "dropin",
                "version": env!("CARGO_PKG_VERSION"),
                "licenses": [{"expression": license::normal(env!("CARGO_PKG_LICENSE"))}],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n").context(|| "write the SBOM".to_owned())
}

/// What the whole is called inside the document.
const PRODUCT: &str = "product:dropin";

/// The package URL (purl specification, type cargo), which is its name inside the document too.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn component(package: &Package, is_program: bool) -> Value {
    let mut component = json!({
        "type": if is_program { "application" } else { "library" },
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "purl": reference(package),
    });
    if let Some(expression) = &package.license {
        component["licenses"] = json!([{"expression": license::normal(expression)}]);
    }
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::command::workspace_root;
    use crate::supply::SHIPPED;
    use crate::supply::check::Rules;

    /// The members that CycloneDX 1.5 requires, in its forms, and references that lead somewhere.
    #[test]
    fn the_sbom_is_cyclonedx_and_names_everything_that_the_programs_are_made_of() {
        let tree = Tree::read(Rules::read(&workspace_root()).unwrap().target().unwrap()).unwrap();
        let text = document(&tree, &SHIPPED).unwrap();
        assert_eq!(document(&tree, &SHIPPED).unwrap(), text, "the same each time");
        let bom: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((bom["bomFormat"].as_str(), bom["specVersion"].as_str()), (Some("CycloneDX"), Some("1.5")));
        assert!(1 <= bom["version"].as_u64().unwrap());
        assert_eq!(bom["metadata"]["component"]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let components = bom["components"].as_array().unwrap();
        let mut references = BTreeSet::from([PRODUCT]);
        for one in components {
            let text = |member: &str| one[member].as_str().unwrap_or_else(|| panic!("{member} of {one}"));
            assert!(["application", "library"].contains(&text("type")), "{one}");
            assert!(
                !text("name").is_empty() && text("purl").starts_with(&format!("pkg:cargo/{}@", text("name"))),
                "{one}"
            );
            assert!(references.insert(text("bom-ref")), "{one} is there twice");
            assert!(one["licenses"][0]["expression"].as_str().is_some_and(|license| !license.contains('/')), "{one}");
            let is_ours = tree.packages.values().any(|own| own.source.is_none() && own.name == text("name"));
            let hash = one["hashes"][0]["content"].as_str().unwrap_or_default();
            let is_hash = hash.len() == 64 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
            assert!(is_ours || is_hash && one["hashes"][0]["alg"] == "SHA-256", "{one}");
        }
        for edge in bom["dependencies"].as_array().unwrap() {
            let needs = edge["dependsOn"].as_array().unwrap().iter();
            for reference in needs.chain([&edge["ref"]]) {
                assert!(references.contains(reference.as_str().unwrap()), "{reference} leads nowhere");
            }
        }
        let has = |name: &str| components.iter().any(|one| one["name"] == name);
        for name in SHIPPED.iter().chain(&["dropin-store", "diesel", "actix-web", "rustls", "aws-lc-rs"]) {
            assert!(has(name), "{name} is missing");
        }
        for name in ["proptest", "xtask", "tempfile"] {
            assert!(!has(name), "{name} is no part of a program");
        }
    }
}
