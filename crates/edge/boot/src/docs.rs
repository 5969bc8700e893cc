use clap::Args;

use crate::mode::Mode;

/// Whether a service shows its API document.
#[derive(Debug, Clone, Args)]
pub struct DocsArgs {
    /// Serve the API document (/openapi.json) and its page (/docs/) [default: true in a sandbox, false in production]
    #[arg(
        long, env = "DROPIN_DOCS", value_name = "true|false", default_missing_value = "true", num_args = 0..=1,
        require_equals = true, action = clap::ArgAction::Set
    )]
    pub docs: Option<bool>,
}

impl DocsArgs {
    /// What is configured, else what fits the mode.
    pub fn shown(&self, mode: Mode) -> bool {
        self.docs.unwrap_or(mode == Mode::Sandbox)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_shows_its_documents_and_production_does_when_asked() {
        let shown = |docs, mode| DocsArgs { docs }.shown(mode);
        assert!(shown(None, Mode::Sandbox) && !shown(None, Mode::Production));
        assert!(!shown(Some(false), Mode::Sandbox) && shown(Some(true), Mode::Production));
    }
}
