//! The files of a package that import each other in a circle.
//!
//! A file stands above those whose modules it declares and those whose items it names by `crate::`, `super::` or `self::`. An item that a module only
//! hands on counts as that of the file which has it. Tests count for nothing, macros belong to no file, and calls of methods are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::sources::sources_below;
use crate::failure::Outcome;

/// The path of a module below its crate.
type Module = Vec<String>;

/// A source, without comments and tests.
struct Source {
    file: String,
    text: String,
    /// The modules that it declares.
    declares: Vec<String>,
    /// What it hands on, by its name here.
    hands_on: BTreeMap<String, Vec<String>>,
}

/// The circles of files below `src`, each as the way round.
pub(crate) fn find_circles(src: &Path) -> Outcome<Vec<String>> {
    let sources: BTreeMap<Module, Source> = sources_below(src)?
        .into_iter()
        .map(|(path, text)| {
            let path = path.strip_prefix(src).unwrap_or(&path);
            (module_of(path), Source::new(path.display().to_string(), &text))
        })
        .collect();
    let below: BTreeMap<&Module, BTreeSet<Module>> =
        sources.iter().map(|(module, source)| (module, imports(&sources, module, source))).collect();
    let mut circles = Vec::new();
    let mut over = BTreeSet::new();
    for module in sources.keys() {
        descend(module, &below, &mut Vec::new(), &mut over, &mut circles);
    }
    let name = |module: &Module| sources[module].file.clone();
    Ok(circles.iter().map(|way| way.iter().map(name).collect::<Vec<_>>().join(" -> ")).collect())
}

/// The module of a file by its path below `src`.
fn module_of(path: &Path) -> Module {
    let path = path.with_extension("");
    let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|name| ["lib", "main", "mod"].contains(&name.as_str()));
    module
}

impl Source {
    fn new(file: String, text: &str) -> Self {
        let (mut lines, mut declares, mut is_test) = (Vec::new(), Vec::new(), false);
        for line in text.lines().map(without_comment) {
            let item =
                line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").trim_start_matches("pub ");
            if is_test && item.starts_with("mod ") && item.ends_with('{') {
                break;
            }
            match item.strip_prefix("mod ").and_then(|name| name.strip_suffix(';')) {
                Some(name) if !is_test => declares.push(name.to_owned()),
                _ => lines.push(line),
            }
            is_test = line.starts_with("#[cfg(test)]") || is_test && (line.is_empty() || line.starts_with("#["));
        }
        let text = lines.join("\n");
        let mut hands_on = BTreeMap::new();
        for (at, _) in
            text.match_indices("use ").filter(|(at, _)| text[..*at].trim_end_matches(' ').ends_with(['b', ')']))
        {
            for path in paths(&text[at + "use ".len()..]) {
                // What is called like where it comes from is a module, or a macro.
                hands_on
                    .extend(path.last().filter(|name| path.first() != Some(name)).cloned().map(|name| (name, path)));
            }
        }
        Self { file, text, declares, hands_on }
    }
}

/// A line without the comment at its end; `://` begins none.
fn without_comment(line: &str) -> &str {
    let begin = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
    begin.map_or(line, |(at, _)| &line[..at]).trim_end()
}

/// The paths that begin here; one that ends in braces is one for each name in them.
fn paths(text: &str) -> Vec<Vec<String>> {
    let text = text.trim_start();
    if let Some(inside) = text.strip_prefix('{') {
        let (mut depth, mut begin, mut all) = (0_usize, 0, Vec::new());
        for (at, sign) in inside.char_indices() {
            match sign {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    all.extend(paths(&inside[begin..at]));
                    break;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    all.extend(paths(&inside[begin..at]));
                    begin = at + 1;
                }
                _ => {}
            }
        }
        return all;
    }
    let end = text.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return Vec::new();
    }
    let behind = rest.strip_prefix("::").map(paths).unwrap_or_default();
    if behind.is_empty() {
        let is_macro = rest.starts_with('!');
        return vec![vec![if is_macro { format!("{name}!") } else { name.to_owned() }]];
    }
    behind.into_iter().map(|path| [vec![name.to_owned()], path].concat()).collect()
}

/// The files below a file.
fn imports(sources: &BTreeMap<Module, Source>, module: &Module, source: &Source) -> BTreeSet<Module> {
    let mut found: BTreeSet<_> =
        source.declares.iter().map(|name| [module.as_slice(), std::slice::from_ref(name)].concat()).collect();
    for root in ["crate::", "super::", "self::"] {
        let begins =
            |at: usize| !source.text[..at].ends_with(|sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':');
        for (at, _) in source.text.match_indices(root).filter(|(at, _)| begins(*at)) {
            found.extend(paths(&source.text[at..]).iter().filter_map(|path| owner(sources, module, path)));
        }
    }
    found.remove(module);
    found.retain(|other| sources.contains_key(other));
    found
}

/// The module whose file has what a path names.
fn owner(sources: &BTreeMap<Module, Source>, module: &Module, path: &[String]) -> Option<Module> {
    let (mut at, mut rest) = (module.clone(), path);
    while let [first, behind @ ..] = rest {
        let child = [at.as_slice(), std::slice::from_ref(first)].concat();
        match first.as_str() {
            "crate" => at = Vec::new(),
            "self" => {}
            "super" => drop(at.pop()?),
            name if name.ends_with('!') => return None,
            _ if sources.contains_key(&child) => at = child,
            _ => {
                let handed_on = sources.get(&at)?.hands_on.get(first);
                return handed_on.map_or(Some(at.clone()), |path| owner(sources, &at, path));
            }
        }
        rest = behind;
    }
    Some(at)
}

/// Walks down from a file, and notes the way where it comes back to a file above.
fn descend<'a>(
    module: &'a Module,
    below: &'a BTreeMap<&Module, BTreeSet<Module>>,
    way: &mut Vec<&'a Module>,
    over: &mut BTreeSet<&'a Module>,
    circles: &mut Vec<Vec<Module>>,
) {
    if let Some(begin) = way.iter().position(|above| *above == module) {
        let round = way[begin..].iter().chain([&module]).map(|module| (*module).clone());
        return circles.push(round.collect());
    }
    if over.contains(module) {
        return;
    }
    way.push(module);
    for next in below.get(module).into_iter().flatten() {
        descend(next, below, way, over, circles);
    }
    way.pop();
    over.insert(module);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_that_import_each_other_are_told_with_the_way_round() {
        let src = std::env::temp_dir().join(format!("dropin-circles-{}", std::process::id()));
        for (path, text) in [
            (
                "lib.rs",
                "pub mod above;\nmod below;\nmod round;\npub use above::Above;\n#[macro_export]\nmacro_rules! ours { () => {} }",
            ),
            ("above.rs", "use crate::below::{self, deep::{Deep, Other}};\n// crate::round::Round\npub struct Above;"),
            (
                "below/mod.rs",
                "mod deep;\nmod side;\npub(crate) use deep::Deep;\nmacro_rules! own { () => {} }\npub(crate) use own;\nfn own() { crate::ours!() }",
            ),
            (
                "below/deep.rs",
                "pub struct Deep;\n#[cfg(test)]\n#[allow(unused)]\nmod tests {\n    use crate::above::Above;\n}",
            ),
            (
                "below/side.rs",
                "use super::{\n    Deep,\n    own,\n};\nfn side(_: super::deep::Other) { super::own!() }",
            ),
            (
                "round/mod.rs",
                "mod one; // the first\n#[cfg(test)]\n// Far below.\nmod tests;\npub struct Round;\nconst URL: &str = \"http://h\";",
            ),
            ("round/one.rs", "fn one(above: crate::Above) -> Option<super::Round> { None }"),
            ("round/tests.rs", "use super::Round;"),
            ("twice.rs", "mod one;\nmod two;\nconst C: &[&str] = &[\"http://h\", self::one::NAME];"),
            ("twice/one.rs", "pub const NAME: &str = super::super::twice::two::NAME;"),
            ("twice/two.rs", "pub const NAME: &str = super::one::NAME;"),
        ] {
            let path = src.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let circles = find_circles(&src).unwrap();
        fs::write(src.join("below/deep.rs"), "use crate::above::Above;").unwrap();
        let more = find_circles(&src).unwrap();
        fs::remove_dir_all(&src).unwrap();
        // What a mod.rs has itself counts, though a macro has the same name: the file cannot be told from it.
        let known = [
            "below/mod.rs -> below/side.rs -> below/mod.rs",
            "round/mod.rs -> round/one.rs -> round/mod.rs",
            "twice/one.rs -> twice/two.rs -> twice/one.rs",
        ];
        assert_eq!(circles, known);
        let long = "above.rs -> below/mod.rs -> below/deep.rs -> above.rs".to_owned();
        assert!(more.len() == 4 && more.contains(&long), "{more:?}");
    }
}
