use std::time::Duration;

use crate::body::BodyLimit;

/// How much of an unread request is drained while its answer is sent, so that the sender sees the answer (docs/SPECIFICATION.md#http-body); in bytes.
pub(crate) const MAX_DRAIN_BYTES: usize = 4 * 1024 * 1024;
/// How long a connection whose request was not read to its end stays open behind its answer.
pub(crate) const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
/// Largest chunk of an answer, in bytes: a client has [`Limits::write_deadline`] for each.
pub(crate) const MAX_CHUNK_BYTES: usize = 32 * 1024;
/// Most requests at once on one HTTP/2 connection.
pub(crate) const MAX_STREAMS: usize = 128;

/// Descriptors that are left to databases, files, keys and calls of ours.
const RESERVED_FILES: usize = 256;

/// Limits of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Threads that serve requests.
    pub workers: usize,
    /// Open connections, over all workers; more wait to be accepted.
    pub max_connections: usize,
    /// Open connections of one client address (an IPv6 client is its /64); more are refused. 0: as many as there may be. Does not
    /// count behind a proxy, where all connections are the proxy's.
    pub client_connections: usize,
    /// Time for the head of a request, and for a TLS handshake.
    pub head_deadline: Duration,
    /// Time for the body of a request, from its head on.
    pub body_deadline: Duration,
    /// Time in which a client has to take what is ready for it.
    pub write_deadline: Duration,
    /// How long an idle connection is kept.
    pub keep_alive: Duration,
    /// Time that a stop gives to requests that run.
    pub stop_deadline: Duration,
    /// Largest body, where an operation has no limit of its own.
    pub body: BodyLimit,
    /// Bytes that the bodies of all running requests may take which have proven no merchant. One client may take a sixty-fourth of it. 0: any number.
    pub body_memory: usize,
    /// Requests of one merchant in a second, with bursts of twice that (docs/SPECIFICATION.md#rate-limits). 0: any number.
    pub merchant_rate: u32,
    /// Requests of one client address in a second that prove no merchant, with bursts of twice that (docs/SPECIFICATION.md#rate-limits). 0: any number.
    pub client_rate: u32,
    /// Pages of events that one merchant may read in a second, with bursts of twice that: a page may be of four megabytes and costs as much as many
    /// other requests. They count among its requests, too. 0: any number.
    pub event_rate: u32,
    /// Payment sessions of the wallet that one client address may ask for in a second, for one merchant, with bursts of twice
    /// that: no browser vouches for the page then. 0: any number.
    pub wallet_rate: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            workers: 2,
            max_connections: 10_000,
            client_connections: 500,
            head_deadline: Duration::from_secs(5),
            body_deadline: Duration::from_secs(10),
            write_deadline: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            stop_deadline: Duration::from_secs(30),
            body: BodyLimit::default(),
            body_memory: 32 * 1024 * 1024,
            merchant_rate: 1_000,
            client_rate: 200,
            event_rate: 10,
            wallet_rate: 20,
        }
    }
}

impl Limits {
    /// How long a connection may be without a request: it idles, then a head arrives.
    pub(crate) fn idle_deadline(&self) -> Duration {
        self.keep_alive + self.head_deadline
    }

    /// Takes as many open files as the system allows this process, and no more connections than fit.
    pub(crate) fn fit_open_files(mut self) -> Self {
        let files = raise_open_files().unwrap_or(usize::MAX);
        let fitting = fitting(files);
        if fitting < self.max_connections {
            log::warn!(
                "only {fitting} of {} connections fit into the {files} files that this process may open: allow {} (LimitNOFILE in \
                 systemd, ulimit -Hn in a shell), or ask for fewer with --max-connections",
                self.max_connections,
                self.max_connections.saturating_add(RESERVED_FILES),
            );
            self.max_connections = fitting;
        }
        self
    }
}

/// Connections that fit into so many files.
fn fitting(files: usize) -> usize {
    files.saturating_sub(RESERVED_FILES).max(files / 2).max(1)
}

/// Raises the soft limit of open files to the hard one; what it is then, `None` when there is none.
#[cfg(unix)]
fn raise_open_files() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // A system that refuses leaves the limit as it is.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let files = if raised { maximum } else { current };
    files.map(|files| usize::try_from(files).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn raise_open_files() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_rest_of_the_process() {
        assert_eq!([0, 1, 100, 512, 1_024, 20_000].map(fitting), [1, 1, 50, 256, 768, 19_744]);
    }

    #[cfg(unix)]
    #[test]
    fn the_system_gives_all_it_allows() {
        use rustix::process::{Resource, getrlimit};
        let files = raise_open_files();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, now.maximum);
        let greedy = Limits { max_connections: usize::MAX, ..Limits::default() }.fit_open_files();
        assert_eq!(greedy.max_connections, files.map_or(usize::MAX, fitting));
        let modest = Limits { max_connections: 10, ..Limits::default() };
        assert_eq!(modest.fit_open_files(), modest);
    }
}
