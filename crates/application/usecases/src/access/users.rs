//! API users of merchants.

use std::time::Duration;

use dropin_access::{ApiUser, Permissions};
use dropin_kernel::{ApiUserId, MerchantId, Timestamp, ViolationCode};
use dropin_ports::{UserChange, UserInserted};

use super::{AccountError, DRAWS, Merchants, invalid, of_user, unlucky};

/// A new API user's credentials, shown this once. No Debug: they are secret.
pub struct UserAdded {
    /// API user name.
    pub username: String,
    /// API password: 256 random bits.
    pub password: String,
    /// What it may do.
    pub permissions: Permissions,
}

/// An API user's new password, shown this once. No Debug: it is secret.
pub struct PasswordRotated {
    /// API password: 256 random bits.
    pub password: String,
    /// Until when the password of before counts too; `None` when it has ended already.
    pub old_until: Option<Timestamp>,
}

impl Merchants {
    /// Adds an API user to a merchant.
    ///
    /// # Errors
    /// [`AccountError::Invalid`] (Permissions), [`AccountError::NoMerchant`], [`AccountError::Store`].
    pub async fn add_user(&self, merchant: MerchantId, permissions: Permissions) -> Result<UserAdded, AccountError> {
        check(permissions)?;
        let password = self.password();
        for _ in 0..DRAWS {
            let (id, username) = (ApiUserId::new(self.ids.ordered()), self.username());
            let hash = self.secrets.hash_password(&password);
            let user = ApiUser::new(id, merchant, username.clone(), hash, permissions);
            match self.store.insert_user(user).await? {
                UserInserted::Done => return Ok(UserAdded { username, password, permissions }),
                UserInserted::NoMerchant => return Err(AccountError::NoMerchant),
                UserInserted::DuplicateUsername => {}
            }
        }
        Err(unlucky())
    }

    /// The merchant's API users, revoked ones too, oldest first.
    ///
    /// # Errors
    /// [`AccountError::NoMerchant`], [`AccountError::Store`].
    pub async fn users(&self, merchant: MerchantId) -> Result<Vec<ApiUser>, AccountError> {
        self.merchant(merchant).await?;
        Ok(self.store.list_users(merchant).await?)
    }

    /// Lets an API user do exactly this; in force within two seconds.
    ///
    /// # Errors
    /// [`AccountError::Invalid`] (Permissions), [`AccountError::NoUser`], [`AccountError::Revoked`], [`AccountError::Store`].
    pub async fn set_permissions(&self, username: &str, permissions: Permissions) -> Result<(), AccountError> {
        check(permissions)?;
        of_user(self.store.change_user(username, UserChange::Permissions(permissions)).await?)
    }

    /// Shuts an API user out for ever, with every password it has; in force within two seconds.
    ///
    /// # Errors
    /// [`AccountError::NoUser`], [`AccountError::Revoked`], [`AccountError::Store`].
    pub async fn revoke_user(&self, username: &str) -> Result<(), AccountError> {
        let now = self.clock.now();
        of_user(self.store.change_user(username, UserChange::Revoked(now)).await?)
    }

    /// Gives an API user a new password. The one of before counts for `overlap` more (zero ends it now); one that was replaced
    /// before that ends here.
    ///
    /// # Errors
    /// [`AccountError::Invalid`] (Overlap), [`AccountError::NoUser`], [`AccountError::Revoked`], [`AccountError::Store`].
    pub async fn rotate_password(&self, username: &str, overlap: Duration) -> Result<PasswordRotated, AccountError> {
        let old_until = self.end_of(overlap)?;
        let password = self.password();
        let change = UserChange::Password { new: self.secrets.hash_password(&password), old_until };
        of_user(self.store.change_user(username, change).await?)?;
        Ok(PasswordRotated { password, old_until })
    }
}

fn check(permissions: Permissions) -> Result<(), AccountError> {
    if permissions.is_empty() {
        let advice = "must name at least one permission; to shut a user out, revoke it";
        return Err(invalid("Permissions", ViolationCode::Missing, advice));
    }
    Ok(())
}
