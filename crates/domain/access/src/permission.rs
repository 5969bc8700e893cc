use std::fmt;
use std::str::FromStr;

/// Writes the enumeration and everything that is known of a permission from one table.
macro_rules! permissions {
    ($($name:ident = $word:literal, $meaning:literal;)+) => {
        /// What an API user may do (decisions.md section 4, Permissions).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Permission {
            $(#[doc = $meaning] $name,)+
        }

        impl Permission {
            /// Every permission.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The word that stands for it on the command line and in the store.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

permissions! {
    SessionWrite = "session:write", "Create, replace and cancel Sessions.";
    SessionRead = "session:read", "Retrieve Sessions.";
    OrderRead = "order:read", "Retrieve Orders and events.";
    OrderCapture = "order:capture", "Capture and cancel Orders.";
    OrderRefund = "order:refund", "Refund Orders.";
    Checkout = "checkout", "Pay server to server.";
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one of session:write, session:read, order:read, order:capture, order:refund, checkout")]
pub struct UnknownPermission;

impl FromStr for Permission {
    type Err = UnknownPermission;

    fn from_str(word: &str) -> Result<Self, UnknownPermission> {
        Self::ALL.iter().copied().find(|permission| permission.as_str() == word).ok_or(UnknownPermission)
    }
}

/// A set of permissions.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions(u8);

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
    }

    #[test]
    fn words_name_permissions() {
        for permission in Permission::ALL {
            assert_eq!(permission.as_str().parse(), Ok(*permission));
            assert!(UnknownPermission.to_string().contains(permission.as_str()));
        }
        assert_eq!("session".parse::<Permission>(), Err(UnknownPermission));
    }
}
