//! Just enough of an HTTP/1.1 client for a run: kept-alive connections, answers with a length.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::failure::{Context, Failure, Outcome};

const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of a program on this machine, over one connection at a time.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    authorization: String,
    /// One on which something failed is not used again.
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Connects; every request that is sent will carry the authorization.
    pub(crate) fn connect(address: SocketAddr, authorization: &str) -> Outcome<Self> {
        Ok(Self { address, authorization: authorization.to_owned(), stream: Some(open(address)?) })
    }

    /// Sends a request with a body of JSON and reads status and body of the answer.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> Outcome<(u16, String)> {
        let headers = format!("Authorization: {}\r\nContent-Type: application/json\r\n", self.authorization);
        self.exchange(method, path, &headers, body)
    }

    /// Sends a request with nothing but these header lines, each with its end, and reads status and body of the answer.
    pub(crate) fn exchange(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Outcome<(u16, String)> {
        let mut stream = self.stream.take().map_or_else(|| open(self.address), Ok)?;
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        stream.get_mut().write_all(request.as_bytes()).context(|| format!("send {method} {path}"))?;
        let answer = read_answer(&mut stream);
        let answer = answer.map_err(|failure| Failure::new(format!("{method} {path}: {failure}")))?;
        self.stream = Some(stream);
        Ok(answer)
    }
}

fn open(address: SocketAddr) -> Outcome<BufReader<TcpStream>> {
    let stream =
        TcpStream::connect_timeout(&address, READ_TIMEOUT).context(|| format!("connect to http://{address}"))?;
    stream.set_read_timeout(Some(READ_TIMEOUT)).context(|| "bound the wait for an answer".to_owned())?;
    stream.set_nodelay(true).context(|| "send without delay".to_owned())?;
    Ok(BufReader::new(stream))
}

fn read_answer(stream: &mut impl BufRead) -> Outcome<(u16, String)> {
    let first = read_line(stream)?;
    let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.ok_or_else(|| Failure::new(format!("this is no HTTP answer: `{first}`")))?;
    let mut body = Vec::new();
    loop {
        let line = read_line(stream)?;
        match line.split_once(':') {
            Some((name, length)) if name.eq_ignore_ascii_case("content-length") => {
                body = vec![0; length.trim().parse().context(|| format!("understand the length `{length}`"))?];
            }
            None if line.is_empty() => break,
            _ => {}
        }
    }
    stream.read_exact(&mut body).context(|| "read a whole body".to_owned())?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

/// One line without its end.
fn read_line(stream: &mut impl BufRead) -> Outcome<String> {
    let mut line = String::new();
    if stream.read_line(&mut line).context(|| "read from the connection".to_owned())? == 0 {
        return Err(Failure::new("the connection was closed without a whole answer"));
    }
    line.truncate(line.trim_end().len());
    Ok(line)
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
}
