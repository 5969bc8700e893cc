use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, value_parser};
use dropin_http::{BodyLimit, Limits, TlsFiles};

use crate::settings::socket_address;

/// How a listener listens; its address is asked for elsewhere, because the all-in-one has two.
#[derive(Debug, Clone, Args)]
pub struct ListenArgs {
    /// TLS certificate chain, PEM
    #[arg(long, env = "DROPIN_TLS_CERTIFICATE", value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// The certificate's private key, PEM
    #[arg(long, env = "DROPIN_TLS_KEY", value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Serve plain HTTP to other machines too, because a proxy in front ends TLS and adds the client's address to X-Forwarded-For
    #[arg(
        long, env = "DROPIN_BEHIND_PROXY", value_name = "true|false", default_value_t = false,
        default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set
    )]
    pub behind_proxy: bool,
    /// Address that tells /metrics, by plain HTTP to every client that reaches it, in place of the listener itself, which tells programs of this
    /// machine alone
    #[arg(long, env = "DROPIN_METRICS_LISTEN", value_name = "ADDRESS", value_parser = socket_address)]
    pub metrics_listen: Option<SocketAddr>,
    /// Threads that serve requests
    #[arg(
        long, env = "DROPIN_WORKERS", default_value_t = Limits::default().workers, value_name = "NUMBER",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    pub workers: usize,
    /// Most connections at once
    #[arg(
        long, env = "DROPIN_MAX_CONNECTIONS", default_value_t = Limits::default().max_connections, value_name = "NUMBER",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    pub max_connections: usize,
    /// Most connections at once of one client address (an IPv6 client is its /64), 0 for any number; not behind a proxy
    #[arg(
        long, env = "DROPIN_MAX_CONNECTIONS_PER_CLIENT", default_value_t = Limits::default().client_connections,
        value_name = "NUMBER"
    )]
    pub max_connections_per_client: usize,
    /// Time for the head of a request, and for a TLS handshake
    #[arg(
        long, env = "DROPIN_HEAD_TIMEOUT", default_value_t = Limits::default().head_deadline.as_secs(), value_name = "SECONDS",
        value_parser = value_parser!(u64).range(SECONDS)
    )]
    pub head_timeout: u64,
    /// Time for the body of a request
    #[arg(
        long, env = "DROPIN_BODY_TIMEOUT", default_value_t = Limits::default().body_deadline.as_secs(), value_name = "SECONDS",
        value_parser = value_parser!(u64).range(SECONDS)
    )]
    pub body_timeout: u64,
    /// Time in which a client has to take what is ready for it
    #[arg(
        long, env = "DROPIN_WRITE_TIMEOUT", default_value_t = Limits::default().write_deadline.as_secs(), value_name = "SECONDS",
        value_parser = value_parser!(u64).range(SECONDS)
    )]
    pub write_timeout: u64,
    /// How long an idle connection is kept
    #[arg(
        long, env = "DROPIN_KEEP_ALIVE", default_value_t = Limits::default().keep_alive.as_secs(), value_name = "SECONDS",
        value_parser = value_parser!(u64).range(SECONDS)
    )]
    pub keep_alive: u64,
    /// Time for which /readyz says no after a stop was asked for, while everything is still served; then the listeners close. Longer than it takes
    /// a load balancer to notice [default: 0 in dropin, 5 in the small programs]
    #[arg(
        long, env = "DROPIN_DRAIN_DELAY", default_value_t = 0, value_name = "SECONDS", hide_default_value = true,
        value_parser = value_parser!(u64).range(0..=600)
    )]
    pub drain_delay: u64,
    /// How long /readyz still says yes when the database stops answering: a moment without it must not take every program out of service at once
    #[arg(
        long, env = "DROPIN_READY_GRACE", default_value_t = 5, value_name = "SECONDS", value_parser = value_parser!(u64).range(0..=600)
    )]
    pub ready_grace: u64,
    /// Largest body of a request; forms of the stash have a smaller limit of their own
    #[arg(long, env = "DROPIN_MAX_BODY", default_value_t = Limits::default().body.0, value_name = "BYTES")]
    pub max_body: usize,
    /// Most memory that the bodies of all running requests may take which have proven no merchant, a sixty-fourth of it for one client; 0 for any
    #[arg(long, env = "DROPIN_BODY_MEMORY", default_value_t = Limits::default().body_memory, value_name = "BYTES")]
    pub body_memory: usize,
    /// Requests of one merchant in a second, with bursts of twice that, in each program; 0 for any number
    #[arg(long, env = "DROPIN_MERCHANT_RATE", default_value_t = Limits::default().merchant_rate, value_name = "NUMBER")]
    pub merchant_rate: u32,
    /// Requests of one client address in a second that prove no merchant, with bursts of twice that, in each program; 0 for any number
    #[arg(long, env = "DROPIN_CLIENT_RATE", default_value_t = Limits::default().client_rate, value_name = "NUMBER")]
    pub client_rate: u32,
    /// Pages of events that one merchant may read in a second, with bursts of twice that, in each program; 0 for any number
    #[arg(long, env = "DROPIN_EVENT_RATE", default_value_t = Limits::default().event_rate, value_name = "NUMBER")]
    pub event_rate: u32,
    /// Wallet payment sessions that one client address may ask for in a second, for one merchant, with bursts of twice that; 0
    /// means any number
    #[arg(long, env = "DROPIN_WALLET_RATE", default_value_t = Limits::default().wallet_rate, value_name = "NUMBER")]
    pub wallet_rate: u32,
}

/// What a time limit may be: a day is longer than any that makes sense.
const SECONDS: RangeInclusive<u64> = 1..=86_400;

impl ListenArgs {
    /// How long /readyz still says yes when the database stops answering.
    pub fn ready_grace(&self) -> Duration {
        Duration::from_secs(self.ready_grace)
    }

    /// The certificate and key, when both are configured.
    pub fn tls(&self) -> Option<TlsFiles> {
        let (certificate, key) = self.tls_certificate.clone().zip(self.tls_key.clone())?;
        Some(TlsFiles { certificate, key })
    }

    /// The time between the wish to stop and the stop.
    pub const fn drain_delay(&self) -> Duration {
        Duration::from_secs(self.drain_delay)
    }

    /// The listener's limits.
    pub fn limits(&self) -> Limits {
        Limits {
            workers: self.workers,
            max_connections: self.max_connections,
            client_connections: self.max_connections_per_client,
            head_deadline: Duration::from_secs(self.head_timeout),
            body_deadline: Duration::from_secs(self.body_timeout),
            write_deadline: Duration::from_secs(self.write_timeout),
            keep_alive: Duration::from_secs(self.keep_alive),
            body: BodyLimit(self.max_body),
            body_memory: self.body_memory,
            merchant_rate: self.merchant_rate,
            client_rate: self.client_rate,
            event_rate: self.event_rate,
            wallet_rate: self.wallet_rate,
            ..Limits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_those_of_the_server_unless_somebody_says_otherwise() {
        #[derive(Debug, clap::Parser)]
        struct Demo {
            #[command(flatten)]
            listen: ListenArgs,
        }
        let limits =
            |line: &str| <Demo as clap::Parser>::try_parse_from(line.split(' ')).map(|demo| demo.listen.limits());
        assert_eq!(limits("demo").unwrap(), Limits::default());
        let given = limits(
            "demo --workers 3 --max-connections 4 --max-connections-per-client 5 --head-timeout 6 --body-timeout 7 \
             --write-timeout 8 --keep-alive 9 --max-body 10 --body-memory 14 --merchant-rate 11 --client-rate 0 \
             --event-rate 12 --wallet-rate 13",
        );
        let seconds = Duration::from_secs;
        let wanted = Limits {
            workers: 3,
            max_connections: 4,
            client_connections: 5,
            head_deadline: seconds(6),
            body_deadline: seconds(7),
            write_deadline: seconds(8),
            keep_alive: seconds(9),
            stop_deadline: Limits::default().stop_deadline,
            body: BodyLimit(10),
            body_memory: 14,
            merchant_rate: 11,
            client_rate: 0,
            event_rate: 12,
            wallet_rate: 13,
        };
        assert_eq!(given.unwrap(), wanted);
        assert!(limits("demo --keep-alive 0").is_err(), "a connection without a limit");
        for nothing in ["--workers 0", "--max-connections 0"] {
            assert!(limits(&format!("demo {nothing}")).is_err(), "{nothing} would serve nothing");
        }
        for no_address in ["localhost:8090", "8090", ":8090"] {
            let message = limits(&format!("demo --metrics-listen {no_address}")).expect_err("no address").to_string();
            assert!(message.contains("such as 127.0.0.1:8080"), "{no_address}: {message}");
        }
    }
}
