use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand;
use dropin_kernel::Timestamp;
use dropin_ports::{Clock, IdSource};
use uuid::Uuid;

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// The machine's random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn random(&self) -> Uuid {
        Uuid::new_v4()
    }

    fn ordered(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn secret(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        rand::fill(&mut bytes).expect("a system without random numbers cannot run a payment service");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_promised_versions_and_secrets_differ() {
        assert_eq!(SystemIds.random().get_version_num(), 4);
        let (first, second) = (SystemIds.ordered(), SystemIds.ordered());
        assert!(first.get_version_num() == 7 && first < second);
        assert_ne!(SystemIds.secret(), SystemIds.secret());
    }

    #[test]
    fn the_clock_is_in_this_century() {
        assert!(SystemClock.now().to_string().starts_with("20"));
    }
}
