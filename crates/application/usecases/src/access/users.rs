//! API users of merchants.

use std::time::Duration;

use dropin_access::{ApiUser, AuditAction, AuditSubjectKind, Permission, Permissions};
use dropin_kernel::{ApiUserId, MerchantId, Timestamp, ViolationCode};
use dropin_ports::{AuditSubject, NewAuditEntry, UserChange, UserInserted};
use dropin_wire::audit_log::Document;

use super::{AccountError, DRAWS, Merchants, USERNAME_PREFIX, invalid, of_user, unlucky};
use crate::audit_log::user_document;

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
        self.add_user_named(USERNAME_PREFIX, merchant, permissions).await
    }

    /// The same with a name that begins so.
    pub(super) async fn add_user_named(
        &self,
        prefix: &str,
        merchant: MerchantId,
        permissions: Permissions,
    ) -> Result<UserAdded, AccountError> {
        check(permissions)?;
        let password = self.password();
        for _ in 0..DRAWS {
            let (id, username) = (ApiUserId::new(self.ids.ordered()), self.username(prefix));
            let hash = self.secrets.hash_password(&password);
            let user = ApiUser::new(id, merchant, username.clone(), hash, permissions);
            let entry = self.entry(merchant, AuditAction::UserAdd, subject(&username));
            let entry = entry.with_after(user_document(&user).finish());
            match self.store.insert_user(user, entry).await? {
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
        let after = Document::new().texts("Permissions", permissions.iter().map(Permission::as_str));
        let entry = self.user_entry(username, AuditAction::UserPermissionsChange, after).await?;
        of_user(self.store.change_user(username, UserChange::Permissions(permissions), entry).await?)
    }

    /// Shuts an API user out for ever, with every password it has; in force within two seconds.
    ///
    /// # Errors
    /// [`AccountError::NoUser`], [`AccountError::Revoked`], [`AccountError::Store`].
    pub async fn revoke_user(&self, username: &str) -> Result<(), AccountError> {
        let now = self.clock.now();
        let entry = self.user_entry(username, AuditAction::UserRevoke, Document::new().text("RevokedAt", now)).await?;
        of_user(self.store.change_user(username, UserChange::Revoked(now), entry).await?)
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
        let after = Document::new().optional("OldPasswordUntil", old_until);
        let entry = self.user_entry(username, AuditAction::UserPasswordRotate, after).await?;
        of_user(self.store.change_user(username, change, entry).await?)?;
        Ok(PasswordRotated { password, old_until })
    }

    /// The entry of a change of a user.
    async fn user_entry(
        &self,
        username: &str,
        action: AuditAction,
        after: Document,
    ) -> Result<NewAuditEntry, AccountError> {
        let user = self.store.find_user(username).await?.ok_or(AccountError::NoUser)?;
        let entry = self.entry(user.merchant_id, action, subject(username));
        Ok(entry.with_before(user_document(&user).finish()).with_after(after.finish()))
    }
}

fn subject(username: &str) -> AuditSubject {
    AuditSubject::new(AuditSubjectKind::User, username)
}

fn check(permissions: Permissions) -> Result<(), AccountError> {
    if permissions.is_empty() {
        let advice = "must name at least one permission; to shut a user out, revoke it";
        return Err(invalid("Permissions", ViolationCode::Missing, advice));
    }
    Ok(())
}
