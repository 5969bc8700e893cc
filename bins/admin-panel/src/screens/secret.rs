//! A secret that is shown once: in the answer to the form that made it, which nothing keeps.

use askama::Template;

use crate::guard::Answer;
use crate::request::{PanelRequest, Shell};

#[derive(Template)]
#[template(path = "secret.html")]
struct SecretPage {
    shell: Shell,
    intro: String,
    secrets: Vec<(String, String)>,
    back: String,
}

/// Shows secrets, each with what it is.
pub(crate) fn page(
    request: &PanelRequest,
    title: &str,
    intro: &str,
    secrets: Vec<(&str, String)>,
    back: String,
) -> Answer {
    let secrets = secrets.into_iter().map(|(name, secret)| (name.to_owned(), secret)).collect();
    let page = SecretPage { shell: request.shell(title), intro: intro.to_owned(), secrets, back };
    Ok(request.page(&page))
}
