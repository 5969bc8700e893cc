//! License expressions (SPDX specification 2.3, annex D), as far as crates use them.

/// Whether somebody who takes only the `allowed` licenses may use what is under `expression`. An expression that cannot be read is not allowed.
pub(super) fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let words = words(expression);
    let mut reader = Reader { words: &words, at: 0, allowed };
    reader.either() == Some(true) && reader.at == words.len()
}

/// The expression in the form that the specification gives it: old manifests write a slash for OR.
pub(super) fn normal(expression: &str) -> String {
    words(expression).join(" ").replace("( ", "(").replace(" )", ")")
}

fn words(expression: &str) -> Vec<String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

struct Reader<'a> {
    words: &'a [String],
    at: usize,
    allowed: &'a [String],
}

impl Reader<'_> {
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|next| next == word);
        self.at += usize::from(is_next);
        is_next
    }

    fn either(&mut self) -> Option<bool> {
        let mut allowed = self.both()?;
        while self.takes("OR") {
            allowed |= self.both()?;
        }
        Some(allowed)
    }

    fn both(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.takes("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.takes("(") {
            let inner = self.either()?;
            return self.takes(")").then_some(inner);
        }
        let mut license = self.words.get(self.at)?.clone();
        self.at += 1;
        if self.takes("WITH") {
            license = format!("{license} WITH {}", self.words.get(self.at)?);
            self.at += 1;
        }
        Some(self.allowed.contains(&license))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_binds_before_or() {
        let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/GPL-3.0",
            "GPL-3.0 AND X OR ISC",
            "ISC AND (MIT OR GPL-3.0)",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT",
            "MIT)",
            "MIT OR",
            "MIT ISC",
            "Apache-2.0",
            "ISC AND (GPL-3.0 OR X)",
            "AND",
        ] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
        assert_eq!(normal("MIT/Apache-2.0"), "MIT OR Apache-2.0");
        assert_eq!(normal("(MIT OR ISC)  AND Zlib"), "(MIT OR ISC) AND Zlib");
    }
}
