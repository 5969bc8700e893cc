//! The dependency closure of one package as `cargo tree` prints it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::rules::Excused;
use crate::failure::{Failure, Outcome};

/// What one package depends on, directly and through others. Crates are known by name; versions do not matter here.
#[derive(Debug)]
pub(crate) struct Closure {
    root: String,
    edges: BTreeMap<String, BTreeSet<String>>,
}

/// What each line of `cargo tree --prefix depth --format ' …'` says, behind what the crate that depends on it says: lines like `2 time v0.3.55`, depth
/// first. A crate that comes up again is marked `(*)` and its dependencies are not repeated, so no edge is lost.
pub(crate) fn edges(text: &str) -> Outcome<Vec<(Option<&str>, &str)>> {
    let (mut path, mut edges): (Vec<&str>, Vec<_>) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let read = line.split_once(' ').and_then(|(depth, what)| Some((depth.parse::<usize>().ok()?, what)));
        let (depth, what) = read.filter(|(depth, _)| *depth <= path.len()).ok_or_else(|| {
            Failure::new(format!("cargo tree printed a line this tool does not understand: `{line}`"))
        })?;
        path.truncate(depth);
        edges.push((path.last().copied(), what));
        path.push(what);
    }
    if edges.is_empty() { Err(Failure::new("cargo tree printed nothing")) } else { Ok(edges) }
}

impl Closure {
    /// Reads what [`edges`] reads, of a tree with one root.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let lines = edges(text)?;
        let name = |what: &str| what.split(' ').next().unwrap_or_default().to_owned();
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (parent, what) in &lines {
            edges.entry(parent.map(name).unwrap_or_default()).or_default().insert(name(what));
        }
        Ok(Self { root: name(lines[0].1), edges })
    }

    /// Every crate that is reached without following an excused edge, with the shortest way to it (the crate included).
    pub(crate) fn ways(&self, excused: &[Excused]) -> BTreeMap<&str, Vec<&str>> {
        let mut ways = BTreeMap::from([(self.root.as_str(), vec![self.root.as_str()])]);
        let mut next = VecDeque::from([self.root.as_str()]);
        while let Some(from) = next.pop_front() {
            let way = ways[from].clone();
            for to in self.edges.get(from).into_iter().flatten() {
                if ways.contains_key(to.as_str()) || is_excused(excused, from, to) {
                    continue;
                }
                ways.insert(to, way.iter().copied().chain([to.as_str()]).collect());
                next.push_back(to);
            }
        }
        ways
    }

    /// Whether `from` depends directly on `to` anywhere in this closure.
    pub(crate) fn has_edge(&self, from: &str, to: &str) -> bool {
        self.edges.get(from).is_some_and(|targets| targets.contains(to))
    }
}

fn is_excused(excused: &[Excused], from: &str, to: &str) -> bool {
    excused.iter().any(|edge| edge.from == from && edge.to.iter().any(|name| name == to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "0 a v1 (/somewhere/a)\n1 b v1\n2 c v1\n3 d v1\n1 e v1\n2 c v1 (*)\n";

    #[test]
    fn keeps_the_edges_of_a_crate_that_comes_up_twice() {
        let closure = Closure::parse(TREE).unwrap();
        assert!(closure.has_edge("e", "c") && closure.has_edge("c", "d"));
        assert!(!closure.has_edge("e", "d"));
    }

    #[test]
    fn finds_the_way_around_an_excused_edge() {
        let closure = Closure::parse(TREE).unwrap();
        let excused = |from: &str| Excused { from: from.into(), to: vec!["c".into()], reason: String::new() };
        assert_eq!(closure.ways(&[])["d"], ["a", "b", "c", "d"]);
        assert_eq!(closure.ways(&[excused("b")])["d"], ["a", "e", "c", "d"]);
        assert!(!closure.ways(&[excused("b"), excused("e")]).contains_key("d"));
    }

    #[test]
    fn refuses_output_it_does_not_understand() {
        assert!(Closure::parse("a v1\n").is_err());
        assert!(Closure::parse("").is_err());
        assert!(Closure::parse("0 a v1\n2 b v1\n").is_err());
    }
}
