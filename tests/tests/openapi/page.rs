//! The page for people: one HTML file without script, so that it may stand on every origin of ours, also the card frame's.

use serde_json::Value;

use crate::markdown::{blocks, escape, inline};

const STYLE: &str = include_str!("page.css");
const METHODS: [&str; 4] = ["post", "get", "put", "delete"];

/// Renders a document.
pub(crate) fn render(document: &Value) -> String {
    let title = escape(text(&document["info"]["title"]));
    let operations: Vec<Operation<'_>> = operations(document);
    let mut contents = String::new();
    for operation in &operations {
        let (name, summary) = (operation.name(), inline(text(&operation.value["summary"])));
        contents += &format!("<li><a href=\"#{name}\">{}<span>{summary}</span></a></li>\n", operation.method_badge());
    }
    let described: String = operations.iter().map(Operation::render).collect();
    let schemas: String =
        members(&document["components"]["schemas"]).map(|(name, schema)| named_schema(name, schema)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<p class=\"version\">Version {} · \
         <a href=\"../openapi.json\">openapi.json</a></p>\n{}</header>\n<nav aria-label=\"Operations\">\n<ul>\n{contents}</ul>\n</nav>\n<main>\n{described}\
         <h2 id=\"schemas\">Schemas</h2>\n{schemas}</main>\n</body>\n</html>\n",
        escape(text(&document["info"]["version"])),
        blocks(text(&document["info"]["description"])),
    )
}

/// What a schema says of itself; one that may be null says it in its real choice.
fn said(schema: &Value) -> &str {
    let choices = schema["oneOf"].as_array().into_iter().flatten();
    std::iter::once(schema).chain(choices).find_map(|schema| schema["description"].as_str()).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    value: &'a Value,
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let mut found: Vec<Operation<'_>> = members(&document["paths"])
        .flat_map(|(path, item)| {
            METHODS.iter().filter_map(move |method| Some(Operation { method, path, value: item.get(method)? }))
        })
        .collect();
    // Sessions come before Orders, as they do in life; within a tag the addresses are sorted.
    found.sort_by_key(|operation| std::cmp::Reverse(text(&operation.value["tags"][0]).to_owned()));
    found
}

impl Operation<'_> {
    fn name(&self) -> String {
        escape(text(&self.value["operationId"]))
    }

    fn method_badge(&self) -> String {
        format!("<b class=\"{}\">{}</b>", self.method, self.method.to_uppercase())
    }

    fn render(&self) -> String {
        let (name, path) = (self.name(), escape(self.path));
        let mut html = format!(
            "<section id=\"{name}\">\n<h2>{}</h2>\n<p class=\"address\">{} <code>{path}</code></p>\n{}",
            inline(text(&self.value["summary"])),
            self.method_badge(),
            blocks(text(&self.value["description"]))
        );
        if let Some(parameters) = self.value["parameters"].as_array() {
            let rows: String = parameters.iter().map(parameter).collect();
            html += &format!(
                "<h3>Parameters</h3>\n<table>\n<tr><th>Name</th><th>In</th><th>Form</th><th></th></tr>\n{rows}</table>\n"
            );
        }
        let body = &self.value["requestBody"];
        if body.is_object() {
            html += &format!("<h3>Request</h3>\n<p>{}</p>\n{}", inline(text(&body["description"])), contents(body));
        }
        html += "<h3>Answers</h3>\n";
        for (status, response) in members(&self.value["responses"]) {
            let kind = if status.starts_with('2') { "good" } else { "bad" };
            html += &format!(
                "<details class=\"{kind}\">\n<summary><b>{}</b> {}</summary>\n{}{}{}</details>\n",
                escape(status),
                codes(response),
                blocks(text(&response["description"])),
                headers(response),
                contents(response)
            );
        }
        html + "</section>\n"
    }
}

fn parameter(parameter: &Value) -> String {
    let required = if parameter["required"] == true { "" } else { ", may be left out" };
    format!(
        "<tr><td><code>{}</code></td><td>{}{required}</td><td>{}</td><td>{}</td></tr>\n",
        escape(text(&parameter["name"])),
        escape(text(&parameter["in"])),
        form(&parameter["schema"]),
        inline(text(&parameter["description"]))
    )
}

/// The codes that an answer may refuse with, for its heading.
fn codes(response: &Value) -> String {
    let codes = response["content"]["application/json"]["schema"]["allOf"][1]["properties"]["Code"]["enum"].as_array();
    codes.into_iter().flatten().map(|code| escape(text(code))).collect::<Vec<_>>().join(", ")
}

fn headers(response: &Value) -> String {
    let row = |(name, header): (&str, &Value)| {
        format!("<li><code>{}</code> {}</li>\n", escape(name), inline(text(&header["description"])))
    };
    let rows: String = members(&response["headers"]).map(row).collect();
    if rows.is_empty() { rows } else { format!("<p>Headers</p>\n<ul>\n{rows}</ul>\n") }
}

/// Schema and examples of every content type.
fn contents(holder: &Value) -> String {
    let mut html = String::new();
    for (kind, content) in members(&holder["content"]) {
        html += &format!("<p><code>{}</code> {}</p>\n", escape(kind), form(&content["schema"]));
        for (name, example) in members(&content["examples"]) {
            let value = serde_json::to_string_pretty(&example["value"]).unwrap_or_default();
            html += &format!(
                "<details>\n<summary>Example <code>{}</code>: {}</summary>\n<pre>{}</pre>\n</details>\n",
                escape(name),
                inline(text(&example["summary"])),
                escape(&value)
            );
        }
    }
    html
}

fn named_schema(name: &str, schema: &Value) -> String {
    let name = escape(name);
    let mut html = format!("<section id=\"schema-{name}\">\n<h3>{name}</h3>\n{}", blocks(text(&schema["description"])));
    if schema["properties"].is_object() {
        let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().map(text).collect();
        let row = |(member, schema): (&str, &Value)| {
            let needed = if required.contains(&member) { "required" } else { "" };
            format!(
                "<tr><td><code>{}</code></td><td>{needed}</td><td>{}</td><td>{}</td></tr>\n",
                escape(member),
                form(schema),
                inline(said(schema))
            )
        };
        let rows: String = members(&schema["properties"]).map(row).collect();
        html += &format!("<table>\n<tr><th>Member</th><th></th><th>Form</th><th></th></tr>\n{rows}</table>\n");
    } else {
        html += &format!("<p>{}</p>\n", form(schema));
    }
    html + "</section>\n"
}

/// What a value looks like, in a few words.
fn form(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = escape(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let real: Vec<String> = choices.iter().filter(|choice| choice["type"] != "null").map(form).collect();
        return real.join(" or ");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choice = |choice: &Value| match text(&choice["description"]) {
            "" => form(choice),
            said => format!("{}, {}", form(choice), inline(said)),
        };
        return choices.iter().map(choice).collect::<Vec<_>>().join(", or ");
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().map(form).collect::<Vec<_>>().join(", ");
    }
    if schema["properties"].is_object() && schema["type"] == "object" {
        let narrowed = members(&schema["properties"])
            .map(|(name, schema)| format!("<code>{}</code> {}", escape(name), form(schema)));
        return narrowed.collect::<Vec<_>>().join(", ");
    }
    let mut words = match &schema["type"] {
        Value::Array(types) => types.iter().map(text).filter(|kind| *kind != "null").collect::<Vec<_>>().join(" or "),
        kind => text(kind).to_owned(),
    };
    if words == "array" {
        words = format!("list of {}", form(&schema["items"]));
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("<code>{}</code>", escape(text(value)))).collect();
        return format!("one of {}", values.join(" "));
    }
    for (name, said) in [
        ("format", "as"),
        ("minimum", "from"),
        ("maximum", "to"),
        ("minLength", "length from"),
        ("maxLength", "length to"),
        ("minItems", "entries from"),
        ("maxItems", "entries to"),
    ] {
        match &schema[name] {
            Value::Null => {}
            Value::String(word) => words += &format!(", {said} {}", escape(word)),
            bound => words += &format!(", {said} {bound}"),
        }
    }
    words
}

#[test]
fn the_page_has_no_script_and_loads_nothing() {
    let document = serde_json::json!({
        "info": {"title": "<script>", "version": "1", "description": "`<em>`"},
        "paths": {"/a": {"get": {"operationId": "a", "tags": ["A"], "responses": {"200": {"description": "<i>"}}}}},
        "components": {"schemas": {"T": {"type": "string", "description": "<img src=x>"}}},
    });
    let page = render(&document);
    assert!(
        !["<script", "<img", "<em>", "<i>", "http:", "@import", "url("].iter().any(|part| page.contains(part)),
        "{page}"
    );
    assert!(page.contains("&lt;script&gt;") && page.contains("id=\"schema-T\""), "{page}");
}
