use std::net::IpAddr;

use dropin_validation::Country;

/// Countries of IP addresses, by what the operator brought.
pub trait IpCountries: Send + Sync {
    /// The country that the address is used in; `None` where that is not known. It is asked for every payment that is screened, and waits for nothing.
    fn country_of(&self, address: IpAddr) -> Option<Country>;
}
