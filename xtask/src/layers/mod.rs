//! `cargo xtask layers`: the architecture as a test. Compares every package with `layers.toml`.

mod circles;
pub(crate) mod graph;
mod names;
mod packages;
mod rules;
mod sources;
mod test_modules;
pub(crate) mod workspace;

use crate::command::workspace_root;
use crate::failure::{Failure, Outcome};
use rules::Table;

pub(crate) fn check() -> Outcome<()> {
    let root = workspace_root();
    let table = Table::read(&root)?;
    let packages = workspace::packages()?;
    let closures = packages.iter().map(|package| workspace::closure(&package.name)).collect::<Outcome<Vec<_>>>()?;
    let mut violations = Vec::new();
    for (package, closure) in packages.iter().zip(&closures) {
        violations.extend(rules::check_closure(&table, &packages, package, closure));
        violations.extend(packages::check_package(&root, package)?);
        if table.no_circles.contains(&package.name) {
            let circles = circles::find_circles(&root.join(&package.folder).join("src"))?;
            violations.extend(circles.iter().map(|way| {
                format!(
                    "{}: files import each other in a circle ({way}): move what the lower one takes below both",
                    package.name
                )
            }));
        }
        violations.extend(test_modules::check_test_modules(&root.join(&package.folder).join("tests"))?);
    }
    violations.extend(rules::check_owners(&table, &packages));
    violations.extend(rules::check_table(&table, &packages, &closures));
    let features = workspace::features()?;
    violations.extend(rules::check_features(&features));
    violations.extend(rules::check_tested(&packages, &features));
    violations.extend(packages::check_migrations(&root)?);
    violations.extend(names::check_names(&root, &packages, &table.shared)?);
    if violations.is_empty() {
        println!("{} packages keep the rules of layers.toml", packages.len());
        return Ok(());
    }
    Err(Failure::new(format!("the layers are violated ({}):\n  {}", violations.len(), violations.join("\n  "))))
}

/// The packages of the domain layer, which must each build alone.
pub(crate) fn domain_packages() -> Outcome<Vec<workspace::Package>> {
    let table = Table::read(&workspace_root())?;
    let is_domain =
        |package: &workspace::Package| table.layer_of(&package.folder).is_some_and(|layer| layer.name == "domain");
    Ok(workspace::packages()?.into_iter().filter(is_domain).collect())
}
