//! The API user by which the admin panel makes events happen in a sandbox.

use std::time::Duration;

use dropin_access::{AuditAction, Permissions};
use dropin_kernel::MerchantId;
use dropin_ports::AuditLog;
use dropin_wire::audit_log::Document;

use super::{AccountError, Merchants, UserAdded};

/// How its name begins; those of other API users begin otherwise.
const NAME_PREFIX: &str = "trigger-";
/// For how long its password of before still counts: longer than one event takes, of which another panel may be in the middle.
const OVERLAP: Duration = Duration::from_secs(5 * 60);

impl Merchants {
    /// Credentials of the merchant's API user for events: that of before with a new password, which nobody else knows, or a new one where there is none
    /// or it was revoked. One that lacks a permission, as after an update, gets all of them. The audit log has the event that they are for.
    ///
    /// # Errors
    /// [`AccountError::NotSandbox`] where the deployment's or the merchant's payments are real, [`AccountError::NoMerchant`], [`AccountError::Store`].
    pub async fn trigger_user(
        &self,
        merchant: MerchantId,
        event: &str,
        permissions: Permissions,
        log: &dyn AuditLog,
    ) -> Result<UserAdded, AccountError> {
        if !self.merchant(merchant).await?.sandbox || !self.targets.is_sandbox() {
            return Err(AccountError::NotSandbox);
        }
        let what = Document::new().text("EventType", event).finish();
        log.append_audit_entry(self.entry(merchant, AuditAction::EventTrigger, merchant).with_after(what)).await?;
        let users = self.store.list_users(merchant).await?;
        let is_for_events = |name: &str| name.starts_with(NAME_PREFIX);
        match users.into_iter().find(|user| user.revoked_at.is_none() && is_for_events(&user.username)) {
            Some(user) => {
                if permissions.iter().any(|one| !user.permissions.contains(one)) {
                    self.set_permissions(&user.username, permissions).await?;
                }
                let password = self.rotate_password(&user.username, OVERLAP).await?.password;
                Ok(UserAdded { username: user.username, password, permissions })
            }
            None => self.add_user_named(NAME_PREFIX, merchant, permissions).await,
        }
    }
}
