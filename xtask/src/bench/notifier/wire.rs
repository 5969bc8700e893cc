//! Just enough of PostgreSQL's protocol to send statements and wait until they are done, without a process per connection between.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::failure::{Context, Failure, Outcome};

const PATIENCE: Duration = Duration::from_secs(60);

/// Version 3.0 of the protocol.
const PROTOCOL: i32 = 196_608;

/// A connection to the server of the bench, which lets everybody in who comes from this machine.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    /// The process that serves it.
    pub(crate) process: u32,
}

impl Connection {
    /// Connects to `url`, such as `postgres://postgres@127.0.0.1:5432/bench`, as `user`.
    pub(crate) fn open(url: &str, user: &str) -> Outcome<Self> {
        let (address, database) = parts(url).ok_or_else(|| Failure::new(format!("{url} names no server of ours")))?;
        let stream = TcpStream::connect(address).context(|| format!("connect to PostgreSQL at {address}"))?;
        stream.set_read_timeout(Some(PATIENCE)).context(|| "bound the wait for PostgreSQL".to_owned())?;
        stream.set_nodelay(true).context(|| "send without delay".to_owned())?;
        let mut connection = Self { stream: BufReader::new(stream), process: 0 };
        let hello =
            [&PROTOCOL.to_be_bytes()[..], format!("user\0{user}\0database\0{database}\0\0").as_bytes()].concat();
        connection.send(None, &hello)?;
        connection.wait()?;
        Ok(connection)
    }

    /// Runs statements and waits until all of them are done; outside of a transaction that is when they are committed. Rows are passed over.
    pub(crate) fn run(&mut self, sql: &str) -> Outcome<()> {
        self.send(Some(b'Q'), &[sql.as_bytes(), b"\0"].concat())?;
        self.wait()
    }

    fn send(&mut self, kind: Option<u8>, content: &[u8]) -> Outcome<()> {
        let length = i32::try_from(content.len() + 4).context(|| "send so much to PostgreSQL".to_owned())?;
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend(length.to_be_bytes());
        message.extend(content);
        self.stream.get_mut().write_all(&message).context(|| "send to PostgreSQL".to_owned())
    }

    /// Reads until the server is ready for more; fails with what it says when it refused.
    fn wait(&mut self) -> Outcome<()> {
        let mut refused = None;
        loop {
            let (kind, content) = self.read()?;
            match kind {
                b'E' => refused = Some(refusal(&content)),
                b'K' => self.process = process(&content).unwrap_or_default(),
                b'Z' => return refused.map_or(Ok(()), |refusal| Err(Failure::new(format!("PostgreSQL: {refusal}")))),
                b'R' if content != [0, 0, 0, 0] => return Err(Failure::new("PostgreSQL wants a password")),
                _ => {}
            }
        }
    }

    fn read(&mut self) -> Outcome<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).context(|| "read from PostgreSQL".to_owned())?;
        let [kind, length @ ..] = head;
        let rest = usize::try_from(i32::from_be_bytes(length)).ok().and_then(|length| length.checked_sub(4));
        let mut content = vec![0; rest.ok_or_else(|| Failure::new("PostgreSQL sent something strange"))?];
        self.stream.read_exact(&mut content).context(|| "read from PostgreSQL".to_owned())?;
        Ok((kind, content))
    }
}

/// "host:port" and database.
fn parts(url: &str) -> Option<(&str, &str)> {
    url.rsplit_once('@')?.1.split_once('/')
}

fn process(content: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(content.get(..4)?.try_into().ok()?))
}

/// The message among the fields of a refusal.
fn refusal(content: &[u8]) -> String {
    let fields = content.split(|byte| *byte == 0);
    let message = fields.into_iter().find_map(|field| field.strip_prefix(b"M"));
    String::from_utf8_lossy(message.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        assert_eq!(parts("postgres://postgres@127.0.0.1:5432/bench"), Some(("127.0.0.1:5432", "bench")));
        assert_eq!(parts("sqlite:///x"), None);
    }

    #[test]
    fn a_refusal_says_why() {
        assert_eq!(refusal(b"SERROR\0C42601\0Msyntax error\0\0"), "syntax error");
    }
}
