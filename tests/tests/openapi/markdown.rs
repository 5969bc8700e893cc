//! The little Markdown that the documents' descriptions use: paragraphs, lists, `code` and **bold**.

/// The text for HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Paragraphs and lists.
pub(crate) fn blocks(text: &str) -> String {
    let mut html = String::new();
    for block in text.split("\n\n") {
        let (mut items, mut lines) = (Vec::<String>::new(), Vec::new());
        for line in block.lines() {
            match (line.strip_prefix("- "), items.last_mut()) {
                (Some(item), _) => items.push(item.to_owned()),
                (None, Some(item)) => *item += &format!(" {}", line.trim()),
                (None, None) => lines.push(line.trim()),
            }
        }
        if !lines.is_empty() {
            html += &format!("<p>{}</p>\n", inline(&lines.join(" ")));
        }
        if !items.is_empty() {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", inline(item))).collect();
            html += &format!("<ul>\n{items}</ul>\n");
        }
    }
    html
}

/// One line.
pub(crate) fn inline(text: &str) -> String {
    let unescaped = text.replace("\\[", "[").replace("\\]", "]");
    between(&between(&escape(&unescaped), "`", "code"), "**", "strong")
}

/// Every second stretch between two `mark`s goes into `element`.
fn between(text: &str, mark: &str, element: &str) -> String {
    let parts: Vec<&str> = text.split(mark).collect();
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let wrap = |(at, part): (usize, &&str)| match at % 2 {
        0 => (*part).to_owned(),
        _ => format!("<{element}>{part}</{element}>"),
    };
    parts.iter().enumerate().map(wrap).collect()
}

#[test]
fn markdown_becomes_html_and_nothing_in_it_is_markup() {
    assert_eq!(inline("**a** `b<c>` & d"), "<strong>a</strong> <code>b&lt;c&gt;</code> &amp; d");
    assert_eq!(inline("2 ** 3, a ` alone"), "2 ** 3, a ` alone");
    assert_eq!(blocks("one\ntwo\n\n- a\n  b\n- c"), "<p>one two</p>\n<ul>\n<li>a b</li>\n<li>c</li>\n</ul>\n");
}
