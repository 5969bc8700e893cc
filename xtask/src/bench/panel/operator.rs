//! How an operator signs up, as a browser does it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::command::captured;
use crate::failure::{Context, Failure, Outcome};

const EMAIL: &str = "bench@shop.example";
const PASSWORD: &str = "nine blue whales dance slowly";
const READ_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Invited {
    link: String,
}

/// Invites an owner by the command line and accepts as a browser does, without an authenticator; the cookie of the session.
pub(super) fn sign_up(mut dropin: Command, address: SocketAddr) -> Outcome<String> {
    let origin = format!("http://{address}");
    dropin.args(["operator", "invite", "--name", "Bench", "--email", EMAIL, "--role", "owner", "--json"]);
    let said = captured(dropin.args(["--panel-url", &origin]))?;
    let Invited { link } = serde_json::from_str(&said).context(|| format!("read the invitation {said}"))?;
    let token = link.split_once("token=").map(|(_, token)| token).unwrap_or_default().to_owned();
    let named = [("token", token.as_str()), ("name", "Bench"), ("email", EMAIL), ("password", PASSWORD)];
    let page = post(address, "/accept", &named)?;
    let sealed =
        hidden(&page, "sealed").ok_or_else(|| Failure::new(format!("no authenticator was offered: {page}")))?;
    let (secret, uri) = (hidden(&page, "secret").unwrap_or_default(), hidden(&page, "uri").unwrap_or_default());
    let without =
        [("token", token.as_str()), ("sealed", &sealed), ("secret", &secret), ("uri", &uri), ("without", "1")];
    let answer = post(address, "/accept/authenticator", &without)?;
    let cookie = answer.lines().filter_map(|line| line.split_once(": ")).find_map(|(name, value)| {
        let cookie = value.split(';').next()?;
        (name.eq_ignore_ascii_case("set-cookie") && cookie.starts_with("__Host-")).then(|| cookie.to_owned())
    });
    cookie.ok_or_else(|| Failure::new(format!("no session was begun: {answer}")))
}

/// Sends a form over a connection of its own; the whole answer.
fn post(address: SocketAddr, path: &str, fields: &[(&str, &str)]) -> Outcome<String> {
    let body = fields.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&");
    let mut stream = TcpStream::connect(address).context(|| format!("connect to http://{address}"))?;
    stream.set_read_timeout(Some(READ_TIMEOUT)).context(|| "bound the wait for an answer".to_owned())?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).context(|| format!("send a form to {path}"))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context(|| format!("read the answer of {path}"))?;
    Ok(answer)
}

fn escaped(value: &str) -> String {
    value
        .bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The value of a hidden field of a page.
fn hidden(page: &str, name: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("&#38;", "&").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_written_and_read_as_browsers_do() {
        assert_eq!(escaped("a b&c=é"), "a%20b%26c%3D%C3%A9");
        let page = "<input type=\"hidden\" name=\"uri\" value=\"otpauth://x?a=1&#38;b=2\"><input name=\"code\">";
        assert_eq!(hidden(page, "uri").as_deref(), Some("otpauth://x?a=1&b=2"));
        assert_eq!(hidden(page, "sealed"), None);
    }
}
