use std::fmt;

use dropin_kernel::coded_enum;

coded_enum! {
    /// What an API user may do (docs/SPECIFICATION.md#permissions).
    #[non_exhaustive]
    pub enum Permission: "permission" {
        /// Create, replace and cancel Sessions.
        SessionWrite = "session:write",
        /// Retrieve Sessions.
        SessionRead = "session:read",
        /// Retrieve Orders and events.
        OrderRead = "order:read",
        /// Capture and cancel Orders.
        OrderCapture = "order:capture",
        /// Refund Orders.
        OrderRefund = "order:refund",
        /// Pay server to server.
        Checkout = "checkout",
        /// Retrieve contracts.
        ContractRead = "contract:read",
        /// Open and close contracts.
        ContractWrite = "contract:write",
        /// Retrieve disputes.
        DisputeRead = "dispute:read",
        /// Accept disputes and hand in evidence.
        DisputeWrite = "dispute:write",
    }
}

/// What takes money or gives it back by itself. In the panel only an owner gives them away.
pub const MONEY_PERMISSIONS: &[Permission] =
    &[Permission::OrderCapture, Permission::OrderRefund, Permission::Checkout, Permission::DisputeWrite];

/// A set of permissions. Serialized as the list of their codes, in the order of [`Permission::ALL`].
///
/// ```
/// use dropin_access::{Permission, Permissions};
///
/// let some: Permissions = [Permission::OrderRead, Permission::OrderRefund].into_iter().collect();
/// assert!(some.contains(Permission::OrderRefund) && !some.contains(Permission::SessionWrite));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions(u16);

impl Permissions {
    /// Every permission.
    pub fn all() -> Self {
        Permission::ALL.iter().copied().collect()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `permission` is among them.
    pub const fn contains(self, permission: Permission) -> bool {
        self.0 & (1 << permission as u8) != 0
    }

    /// Whether one of them is among [`MONEY_PERMISSIONS`].
    pub fn move_money(self) -> bool {
        MONEY_PERMISSIONS.iter().any(|permission| self.contains(*permission))
    }

    /// Those that are in the set, in the order of [`Permission::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.iter().copied().filter(move |permission| self.contains(*permission))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |set, permission| set | (1 << permission as u8)))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Permission::as_str)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_into_it() {
        let some: Permissions = [Permission::OrderRead, Permission::SessionWrite].into_iter().collect();
        assert_eq!(some.iter().collect::<Vec<_>>(), [Permission::SessionWrite, Permission::OrderRead]);
        assert!(!some.contains(Permission::Checkout));
        assert_eq!(Permissions::all().iter().count(), Permission::ALL.len());
        assert_eq!(Permissions::default().iter().count(), 0);
        assert!(Permissions::default().is_empty() && !some.is_empty());
        assert!(Permissions::all().move_money() && !some.move_money());
    }
}
