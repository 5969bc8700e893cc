//! Merchants' own rules of screening, beside the merchants and apart from them.

use diesel::prelude::*;
use dropin_kernel::MerchantId;
use dropin_ports::{MerchantScreeningRules, ScreeningRulesChanged};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::Id;

use super::rows::{revision_restored, revision_stored};
use crate::schema::{merchant, merchant_screening_rules};

/// The text with the revision that it has, from one statement.
pub(crate) fn find(
    connection: &mut AnyConnection,
    merchant: MerchantId,
) -> Result<Option<MerchantScreeningRules>, Fault> {
    let found: Option<(i64, Option<String>)> = merchant::table
        .left_join(merchant_screening_rules::table)
        .filter(merchant::id.eq(Id(merchant.uuid())))
        .select((merchant::screening_rules_revision, merchant_screening_rules::rules.nullable()))
        .first(connection)
        .optional()
        .in_table("merchant_screening_rules")?;
    let whole = |(revision, text)| Ok(MerchantScreeningRules { revision: revision_restored(revision)?, text });
    found.map(whole).transpose()
}

/// Sets the text, or takes it away, and the switch where it is told, when the revision is still the one that this was decided on.
pub(crate) fn set(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    decided_on: u64,
    text: Option<&str>,
    on: Option<bool>,
) -> Result<ScreeningRulesChanged, Fault> {
    let key = Id(merchant.uuid());
    let before = revision_stored(decided_on)?;
    let row = merchant::table.find(key).filter(merchant::screening_rules_revision.eq(before));
    let next = merchant::screening_rules_revision.eq(before.saturating_add(1));
    let switched = on.map(|on| merchant::screening.eq(on));
    if diesel::update(row).set((next, switched)).execute(connection)? == 0 {
        let found: Option<Id> = merchant::table.find(key).select(merchant::id).first(connection).optional()?;
        return Ok(if found.is_some() { ScreeningRulesChanged::Stale } else { ScreeningRulesChanged::Missing });
    }
    diesel::delete(merchant_screening_rules::table.find(key)).execute(connection)?;
    if let Some(text) = text {
        let row = (merchant_screening_rules::merchant_id.eq(key), merchant_screening_rules::rules.eq(text));
        diesel::insert_into(merchant_screening_rules::table).values(row).execute(connection)?;
    }
    Ok(ScreeningRulesChanged::Done)
}
