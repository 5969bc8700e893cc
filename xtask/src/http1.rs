//! Just enough of HTTP/1.1 for a run: kept-alive connections, messages with a length.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::failure::{Context, Failure, Outcome};

const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a program on this machine.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    authorization: String,
}

impl Client {
    /// Connects; every request will carry the authorization.
    pub(crate) fn connect(address: SocketAddr, authorization: &str) -> Outcome<Self> {
        let stream =
            TcpStream::connect_timeout(&address, PATIENCE).context(|| format!("connect to http://{address}"))?;
        stream.set_read_timeout(Some(PATIENCE)).context(|| "bound the wait for an answer".to_owned())?;
        stream.set_nodelay(true).context(|| "send without delay".to_owned())?;
        Ok(Self { stream: BufReader::new(stream), authorization: authorization.to_owned() })
    }

    /// Sends a request with a body of JSON and reads status and body of the answer.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> Outcome<(u16, String)> {
        let headers = format!("Authorization: {}\r\nContent-Type: application/json\r\n", self.authorization);
        self.exchange(method, path, &headers, body)
    }

    /// Sends a request with nothing but these header lines, each with its end, and reads status and body of the answer.
    pub(crate) fn exchange(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Outcome<(u16, String)> {
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        self.stream.get_mut().write_all(request.as_bytes()).context(|| format!("send {method} {path}"))?;
        let answer = read_answer(&mut self.stream);
        answer.map_err(|failure| Failure::new(format!("{method} {path}: {failure}")))
    }
}

/// A request or an answer.
#[derive(Debug)]
pub(crate) struct Message {
    /// The line before the headers.
    pub(crate) first: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// A header's value; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// Reads a whole message; `None` when the other side closed the connection instead.
    pub(crate) fn read(stream: &mut impl BufRead) -> Outcome<Option<Self>> {
        let Some(first) = read_line(stream)? else {
            return Ok(None);
        };
        let mut message = Self { first, headers: Vec::new(), body: Vec::new() };
        loop {
            let line = read_line(stream)?.ok_or_else(|| Failure::new("the connection was closed amid a message"))?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or((&line, ""));
            message.headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let length = message.header("content-length");
        if !length.is_empty() {
            message.body = vec![0; length.parse().context(|| format!("understand the length `{length}`"))?];
            stream.read_exact(&mut message.body).context(|| "read a whole body".to_owned())?;
        }
        Ok(Some(message))
    }
}

/// One line without its end; `None` at the end of all.
fn read_line(stream: &mut impl BufRead) -> Outcome<Option<String>> {
    let mut line = String::new();
    let read = stream.read_line(&mut line).context(|| "read from the connection".to_owned())?;
    line.truncate(line.trim_end().len());
    Ok((read > 0).then_some(line))
}

fn read_answer(stream: &mut impl BufRead) -> Outcome<(u16, String)> {
    let answer = Message::read(stream)?.ok_or_else(|| Failure::new("the connection was closed without an answer"))?;
    Ok((status_of(&answer.first)?, String::from_utf8_lossy(&answer.body).into_owned()))
}

fn status_of(line: &str) -> Outcome<u16> {
    let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    status.ok_or_else(|| Failure::new(format!("this is no HTTP answer: `{line}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_an_answer_up_to_its_length() {
        let mut two =
            "HTTP/1.1 201 Created\r\nContent-length: 2\r\nX: y\r\n\r\n{}HTTP/1.1 204 No Content\r\n\r\n".as_bytes();
        assert_eq!(read_answer(&mut two).unwrap(), (201, "{}".to_owned()));
        assert_eq!(read_answer(&mut two).unwrap(), (204, String::new()));
        assert!(read_answer(&mut two).is_err());
    }

    #[test]
    fn a_body_that_ends_early_is_refused() {
        let mut cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}".as_bytes();
        assert!(read_answer(&mut cut).is_err());
        assert!(read_answer(&mut "HTTP/1.1 200 OK\r\ncontent-".as_bytes()).is_err());
    }

    #[test]
    fn a_request_is_read_with_its_headers_and_a_close_is_no_request() {
        let mut request = "POST /hook/0 HTTP/1.1\r\nWebhook-Id: a:b\r\nContent-Length: 2\r\n\r\n{}".as_bytes();
        let read = Message::read(&mut request).unwrap().unwrap();
        assert_eq!((read.first.as_str(), read.body.as_slice()), ("POST /hook/0 HTTP/1.1", b"{}".as_slice()));
        assert_eq!((read.header("webhook-id"), read.header("webhook-sequence")), ("a:b", ""));
        assert!(Message::read(&mut request).unwrap().is_none());
    }
}
