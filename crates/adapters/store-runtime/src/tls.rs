//! Whether connections to PostgreSQL are encrypted: to another host always, with its certificate verified, unless the URL names an exception.

/// What a URL leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption<'a> {
    /// All of its hosts are this machine, those too that libpq takes from the environment.
    Local,
    /// Another host; the URL says nothing, so that the certificate is verified.
    Verified,
    /// Another host, and the URL names how.
    Named(&'a str),
}

/// The parameters behind the `?`.
pub(crate) fn parameters(url: &str) -> impl Iterator<Item = (&str, &str)> {
    let (_, query) = url.split_once('?').unwrap_or((url, ""));
    query.split('&').filter_map(|pair| pair.split_once('='))
}

/// The hosts that the URL names, before the `/` or in the parameters.
fn hosts(url: &str) -> Vec<String> {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?']).next().unwrap_or("");
    let places = authority.rsplit_once('@').map_or(authority, |(_user, places)| places);
    let named = places.split(',').map(|place| match place.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => place.split(':').next().unwrap_or(place),
    });
    let parameters = parameters(url).filter(|(name, _)| matches!(*name, "host" | "hostaddr"));
    let parameters = parameters.flat_map(|(_, hosts)| hosts.split(','));
    named.chain(parameters).filter(|host| !host.is_empty()).map(str::to_owned).collect()
}

/// Whether a host is this machine: loopback, or the folder of a socket (`%2F` is a slash in a URL).
fn is_local(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    let is_socket =
        host.starts_with(['/', '@']) || host.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("%2f"));
    is_socket
        || host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The hosts that libpq takes from the environment for a URL that names `hosts`.
fn hosts_of_environment(url: &str, hosts: &[String], variable: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let names_address = parameters(url).any(|(name, _)| name == "hostaddr");
    let host = variable("PGHOST").filter(|_| hosts.is_empty());
    let address = variable("PGHOSTADDR").filter(|_| !names_address);
    let all = host.into_iter().chain(address);
    all.flat_map(|all| all.split(',').map(str::to_owned).collect::<Vec<_>>()).filter(|host| !host.is_empty()).collect()
}

/// How connections to `url` are encrypted.
pub(crate) fn encryption(url: &str) -> Encryption<'_> {
    encryption_in(url, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// The same, with an environment. A service file may name any host.
fn encryption_in(url: &str, variable: impl Fn(&str) -> Option<String>) -> Encryption<'_> {
    let has_service = variable("PGSERVICE").is_some() || parameters(url).any(|(name, _)| name == "service");
    let mut hosts = hosts(url);
    hosts.extend(hosts_of_environment(url, &hosts, &variable));
    if !has_service && hosts.iter().all(|host| is_local(host)) {
        return Encryption::Local;
    }
    match parameters(url).find(|(name, _)| *name == "sslmode") {
        Some((_, mode)) => Encryption::Named(mode),
        None => Encryption::Verified,
    }
}

/// Says at the start how the database is reached.
pub(crate) fn log_encryption(url: &str) {
    match encryption(url) {
        Encryption::Local => {}
        Encryption::Verified | Encryption::Named("verify-full") => {
            log::info!(
                "connections to the database are encrypted and its certificate is verified (sslmode=verify-full)"
            )
        }
        Encryption::Named(mode) => log::warn!(
            "the database's URL names sslmode={mode}: whoever controls the network can read or change what is stored; leave sslmode out, and name \
             the certificate authority with sslrootcert=/path/to/ca.pem, to have the server's certificate verified"
        ),
    }
}

/// What to do when a connection fails for want of TLS; nothing otherwise.
pub(crate) fn advice(url: &str, error: &str) -> &'static str {
    let is_about_tls =
        ["root certificate", "certificate verify failed", "server certificate", "does not support SSL", "SSL error"]
            .iter()
            .any(|part| error.contains(part));
    match encryption(url) {
        Encryption::Verified if is_about_tls => {
            " (a database on another host is reached by TLS with its certificate verified: name the certificate authority in the URL with \
             sslrootcert=/path/to/ca.pem, or name an exception such as sslmode=disable for a private network)"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_host_is_verified_unless_the_url_names_an_exception() {
        for local in [
            "postgres:///d",
            "postgres://u:p@localhost/d",
            "postgres://u@127.0.0.1:5432/d",
            "postgres://u@[::1]:5432/d",
            "postgres://u@%2Fvar%2Frun/d",
            "postgres:///d?host=/var/run/postgresql",
            "postgres://127.0.0.1,localhost:5433/d",
        ] {
            assert_eq!(encryption(local), Encryption::Local, "{local}");
        }
        for other in [
            "postgres://u:p@db.example/d",
            "postgresql://db:5432/d?connect_timeout=1",
            "postgres://10.0.0.7/d",
            "postgres://u@localhost,db.example/d",
            "postgres:///d?host=db.example",
            "postgres://localhost/d?hostaddr=10.0.0.7",
            "postgres://[2001:db8::1]/d",
            "postgres://localhost.example/d",
        ] {
            assert_eq!(encryption(other), Encryption::Verified, "{other}");
        }
        assert_eq!(encryption("postgres://u:p@/d?service=db"), Encryption::Verified, "its file may name any host");
        assert_eq!(encryption("postgres://db/d?a=b&sslmode=require"), Encryption::Named("require"));
        assert_eq!(encryption("postgres://127.0.0.1/d?sslmode=disable"), Encryption::Local);
    }

    #[test]
    fn a_host_of_the_environment_is_another_host() {
        let of = |url, name: &str, value: &str| {
            encryption_in(url, |asked| (asked == name).then(|| value.to_owned())) == Encryption::Local
        };
        assert!(of("postgres://u:p@/d", "PGUSER", "db.internal"));
        for (name, value) in [("PGHOST", "db.internal"), ("PGHOSTADDR", "10.0.0.7"), ("PGSERVICE", "db")] {
            assert!(!of("postgres://u:p@/d", name, value), "{name}");
        }
        assert!(of("postgres://u:p@/d", "PGHOST", "/run/postgresql") && of("postgres:///d", "PGHOSTADDR", "127.0.0.1"));
        assert!(of("postgres://localhost/d", "PGHOST", "db.internal"), "the URL wins");
        assert!(!of("postgres://localhost/d", "PGHOSTADDR", "10.0.0.7"), "where the URL names no address");
    }
}
