use clap::Args;
use url::{Host, Url};

use crate::config_error::ConfigError;
use crate::mode::Mode;

/// Under which addresses browsers reach this deployment.
#[derive(Debug, Clone, Args)]
pub struct PublicArgs {
    /// Public address of the drop-in's scripts and calls ({asset_url}), without a slash at its end
    #[arg(long, env = "DROPIN_ASSET_URL", default_value = "http://127.0.0.1:8083", value_name = "URL")]
    pub asset_url: String,
    /// Public address of the stash ({stash_url}), without a slash at its end
    #[arg(long, env = "DROPIN_STASH_URL", default_value = "http://127.0.0.1:8084", value_name = "URL")]
    pub stash_url: String,
}

/// The same addresses, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrls {
    /// `{asset_url}`, without a slash at its end.
    pub asset: String,
    /// `{stash_url}`, without a slash at its end.
    pub stash: String,
}

impl PublicUrls {
    /// Refuses addresses that only browsers on this machine reach; for a deployment of production that other machines reach.
    ///
    /// # Errors
    /// [`ConfigError::Loopback`].
    pub fn check_reachable(&self) -> Result<(), ConfigError> {
        check_reachable("asset_url", "DROPIN_ASSET_URL", &self.asset)?;
        check_reachable("stash_url", "DROPIN_STASH_URL", &self.stash)
    }

    /// The origin of `{asset_url}`, as a browser sends it.
    pub fn asset_origin(&self) -> String {
        // Checked when it was read.
        Url::parse(&self.asset).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }
}

impl PublicArgs {
    /// Checks both addresses for a deployment of this kind.
    ///
    /// # Errors
    /// [`ConfigError::Url`], [`ConfigError::PlainHttp`].
    pub fn urls(&self, mode: Mode) -> Result<PublicUrls, ConfigError> {
        Ok(PublicUrls {
            asset: public_url("asset_url", &self.asset_url, mode)?,
            stash: public_url("stash_url", &self.stash_url, mode)?,
        })
    }
}

/// A public address, without a slash at its end. `name` is its setting.
///
/// # Errors
/// [`ConfigError::Url`]; in production [`ConfigError::PlainHttp`] unless it leads to this machine.
pub fn public_url(name: &'static str, text: &str, mode: Mode) -> Result<String, ConfigError> {
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none() && url.fragment().is_none()
    });
    let Some(url) = url else { return Err(ConfigError::Url { name }) };
    if mode == Mode::Production && url.scheme() == "http" && !is_this_machine(&url) {
        return Err(ConfigError::PlainHttp { name });
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Refuses a public address of this machine for a deployment of production that other machines reach. `url` was read by [`public_url`].
///
/// # Errors
/// [`ConfigError::Loopback`].
pub fn check_reachable(name: &'static str, variable: &'static str, url: &str) -> Result<(), ConfigError> {
    match Url::parse(url).is_ok_and(|url| is_this_machine(&url)) {
        true => Err(ConfigError::Loopback { name, variable }),
        false => Ok(()),
    }
}

/// Whether the host is this machine by its name or address.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::mode::ModeArgs;

    #[test]
    fn production_is_reached_over_https_or_on_this_machine() {
        let url = |text: &str, mode| public_url("base_url", text, mode);
        for good in ["https://pay.example/x", "http://127.0.0.1:8080", "http://[::1]:1", "http://localhost/a"] {
            assert_eq!(url(good, Mode::Production).unwrap(), good);
        }
        let message = url("http://pay.example", Mode::Production).unwrap_err().to_string();
        assert!(message.contains("base_url") && message.contains("https"), "{message}");
        assert_eq!(url("http://pay.example", Mode::Sandbox).unwrap(), "http://pay.example");
        for wrong in ["pay.example", "pay.example:443", "pay.example/x", "localhost:8080", "//pay.example", "http:"] {
            let message = url(wrong, Mode::Sandbox).unwrap_err().to_string();
            assert!(message.contains("https://"), "{wrong}: {message}");
        }
    }

    #[test]
    fn production_that_others_reach_has_no_public_address_of_this_machine() {
        let (here, all) = (SocketAddr::from(([127, 0, 0, 1], 80)), SocketAddr::from(([0, 0, 0, 0], 80)));
        let public = |mode, listen, proxy| ModeArgs { mode: Some(mode) }.is_public_production(listen, proxy);
        assert!(public(Mode::Production, here, true) && public(Mode::Production, all, false));
        assert!(!public(Mode::Production, here, false) && !public(Mode::Sandbox, all, true));
        let urls = |asset: &str, stash: &str| PublicUrls { asset: asset.to_owned(), stash: stash.to_owned() };
        assert!(urls("https://pay.example/asset", "https://stash.example").check_reachable().is_ok());
        for here in ["http://127.0.0.1:8084", "https://localhost", "http://[::1]:1/x"] {
            let message = urls("https://pay.example", here).check_reachable().unwrap_err().to_string();
            assert!(message.contains("DROPIN_STASH_URL"), "{message}");
            let message = urls(here, "https://pay.example").check_reachable().unwrap_err().to_string();
            assert!(message.contains("DROPIN_ASSET_URL"), "{message}");
        }
    }

    #[test]
    fn public_addresses_are_absolute_and_lose_their_slash() {
        let urls = |asset: &str| {
            PublicArgs { asset_url: asset.to_owned(), stash_url: "http://s/".to_owned() }.urls(Mode::Sandbox)
        };
        let good = urls("https://Shop.example:443/asset/").unwrap();
        assert_eq!((good.asset.as_str(), good.stash.as_str()), ("https://shop.example/asset", "http://s"));
        assert_eq!(good.asset_origin(), "https://shop.example");
        for wrong in ["", "/asset", "ftp://x", "https://x/?a"] {
            assert!(urls(wrong).is_err(), "{wrong}");
        }
    }
}
