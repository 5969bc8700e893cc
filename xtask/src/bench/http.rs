//! Just enough of an HTTP client to prepare a run: one kept-alive connection, answers with a length.

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

    /// Sends a request and reads status and body of the answer.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> Outcome<(u16, String)> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.authorization,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).context(|| format!("send {method} {path}"))?;
        let answer = read_answer(&mut self.stream);
        answer.map_err(|failure| Failure::new(format!("{method} {path}: {failure}")))
    }
}

fn read_answer(stream: &mut impl BufRead) -> Outcome<(u16, String)> {
    let mut status = None;
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).context(|| "read the answer".to_owned())?;
        let line = line.trim_end();
        match status {
            None => status = Some(status_of(line)?),
            Some(status) if line.is_empty() => {
                let mut body = vec![0; length];
                stream.read_exact(&mut body).context(|| "read the answer's body".to_owned())?;
                return Ok((status, String::from_utf8_lossy(&body).into_owned()));
            }
            Some(_) => {
                let (name, value) = line.split_once(':').unwrap_or((line, ""));
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().context(|| format!("understand the length `{value}`"))?;
                }
            }
        }
    }
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
    }
}
