use std::fmt;

/// Most mistakes that are told at once.
const MAX_MISTAKES: usize = 100;

/// A place in a file of rules, counted from one; columns are characters.
///
/// ```
/// use dropin_risk::RulesFile;
///
/// let mistakes = RulesFile::parse("[weights]\nNEW_SHOPPER = five\n").unwrap_err();
/// let at = mistakes.iter().next().unwrap().at;
/// assert_eq!((at.line, at.column), (2, 15));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in it.
    pub column: u32,
}

impl Position {
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    /// The place behind `letter`.
    pub(crate) const fn after(self, letter: char) -> Self {
        match letter {
            '\n' => Self { line: self.line.saturating_add(1), column: 1 },
            _ => self.behind(1),
        }
    }

    /// The place some characters further on in the line.
    pub(crate) const fn behind(self, characters: u32) -> Self {
        Self { column: self.column.saturating_add(characters), ..self }
    }
}

/// One mistake in a file of rules. It never repeats what stands there, which may be somebody's address.
///
/// ```
/// use dropin_risk::RulesFile;
///
/// let mistakes = RulesFile::parse("[weight]\n").unwrap_err();
/// let told = "line 1, column 1: is no section; there are thresholds, limits, weights, velocity, rules, exemptions, outside, disposable, allow, block";
/// assert_eq!(mistakes.iter().next().unwrap().to_string(), told);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub at: Position,
    /// What is wrong and what to write instead, for a person.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.at.line, self.at.column, self.message)
    }
}

/// Everything that is wrong with a file of rules, in the order of the file; the first hundred.
///
/// ```
/// use dropin_risk::RulesFile;
///
/// let mistakes = RulesFile::parse("[weights]\nAGE = 5\nNEW_SHOPPER = 900\n").unwrap_err();
/// assert_eq!(mistakes.iter().map(|one| one.at.line).collect::<Vec<_>>(), [2, 3]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    pub(crate) fn add(&mut self, at: Position, message: impl Into<String>) {
        if self.0.len() < MAX_MISTAKES {
            self.0.push(Mistake { at, message: message.into() });
        }
    }

    /// All of them.
    ///
    /// ```
    /// # use dropin_risk::RulesFile;
    /// assert_eq!(RulesFile::parse("weights").unwrap_err().iter().count(), 1);
    /// ```
    pub fn iter(&self) -> std::slice::Iter<'_, Mistake> {
        self.0.iter()
    }

    /// `value`, when nothing is wrong.
    pub(crate) fn none_or<T>(mut self, value: T) -> Result<T, Self> {
        self.0.sort_by_key(|mistake| mistake.at);
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for Mistakes {
    /// One a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            write!(f, "{}{mistake}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
