//! Which rules a merchant's payments are screened by, and how they are changed.

use dropin_access::Merchant;
use dropin_kernel::MerchantId;
use dropin_ports::{AccessStore, AuditLog, AuditQuery, AuditScope, MerchantSettings, MetricSource};
use dropin_risk::{Rules, RulesFile};
use dropin_usecases::access::{MerchantScreening, ScreeningRulesError};
use dropin_usecases::screening::ScreeningRules;
use uuid::Uuid;

use super::harness::Harness;

const OWN: &str = "[thresholds]\nCHALLENGE = 50\n";
const OTHER: &str = "[block]\nEMAIL_DOMAINS = ['spam.example']\n";

fn laid_over(rules: &Rules, text: &str) -> Rules {
    rules.with(&RulesFile::parse(text).unwrap()).unwrap()
}

/// A harness with a merchant that is screened.
async fn screened() -> (Harness, MerchantId) {
    let harness = Harness::new();
    let id = harness.create(None).await.merchant_id;
    let on = MerchantSettings { screening: Some(true), ..MerchantSettings::default() };
    harness.merchants.set(id, on).await.unwrap();
    (harness, id)
}

async fn of(rules: &ScreeningRules, merchant: &Merchant) -> Rules {
    (*rules.of(merchant).await.unwrap()).clone()
}

async fn refused(rules: &ScreeningRules) -> Vec<u64> {
    let metrics = rules.collect_metrics().await.unwrap();
    metrics.iter().flat_map(|metric| metric.samples()).map(|sample| sample.value).collect()
}

#[tokio::test]
async fn a_merchant_without_rules_of_its_own_is_screened_by_the_deployments_or_not_at_all() {
    let (harness, id) = screened().await;
    let of_deployment = laid_over(&Rules::built_in(), OTHER);
    let rules = harness.screening_rules(of_deployment.clone());
    assert_eq!(of(&rules, &harness.merchant(id).await).await, of_deployment);
    let off = MerchantSettings { screening: Some(false), ..MerchantSettings::default() };
    let merchant = harness.merchants.set(id, off).await.unwrap();
    assert!(rules.of(&merchant).await.is_none());
    assert_eq!(harness.rules_read(), 0, "nothing of its own is looked for");
}

#[tokio::test]
async fn own_rules_are_laid_over_the_deployments_and_read_once_after_each_change() {
    let (harness, id) = screened().await;
    let built_in = Rules::built_in();
    let rules = harness.screening_rules(built_in.clone());
    let change = async |revision, text: Option<&str>| {
        let set = harness.merchants.set_screening_rules(id, revision, text.map(str::to_owned), &built_in);
        let set = set.await.unwrap();
        harness.rules_read();
        (set, harness.merchant(id).await)
    };
    let (set, merchant) = change(0, Some(OWN)).await;
    let own = laid_over(&built_in, OWN);
    assert_eq!((set.revision, set.fingerprint), (1, own.fingerprint()));
    for _ in 0..20 {
        assert_eq!(of(&rules, &merchant).await, own);
    }
    assert_eq!(harness.rules_read(), 1);
    let (_, changed) = change(1, Some(OTHER)).await;
    let other = laid_over(&built_in, OTHER);
    assert_eq!((of(&rules, &changed).await, of(&rules, &changed).await), (other.clone(), other.clone()));
    assert_eq!(of(&rules, &merchant).await, other, "who knows the merchant of before gets no older rules");
    assert_eq!(harness.rules_read(), 1);
    // The deployment's rules change below them.
    let of_deployment = laid_over(&built_in, "[weights]\nNEW_SHOPPER = 9\n");
    rules.replace(of_deployment.clone());
    assert_eq!(of(&rules, &changed).await, laid_over(&of_deployment, OTHER));
    let (_, cleared) = change(2, None).await;
    assert_eq!(of(&rules, &cleared).await, of_deployment);
    let (_, again) = change(3, Some(OWN)).await;
    assert_eq!(of(&rules, &again).await, laid_over(&of_deployment, OWN), "nobody takes them for those of before");
}

#[tokio::test]
async fn rules_that_cannot_be_used_any_more_leave_the_deployments_in_force() {
    let (harness, id) = screened().await;
    let built_in = Rules::built_in();
    let rules = harness.screening_rules(built_in.clone());
    // Of another version of Dropin: nothing that this one would have taken.
    let audit = harness.merchants.writer().entry(Some(id), dropin_access::AuditAction::MerchantChange, id);
    harness.store.set_screening_rules(id, 0, Some("[weights]\nGONE = 5\n".to_owned()), None, audit).await.unwrap();
    let merchant = harness.merchant(id).await;
    for _ in 0..20 {
        assert_eq!(of(&rules, &merchant).await, built_in);
    }
    assert_eq!(harness.rules_read(), 1, "told once");
    assert_eq!(refused(&rules).await, [0, 1, 0]);
    harness.merchants.set_screening_rules(id, 1, Some(OWN.to_owned()), &built_in).await.unwrap();
    assert_eq!(of(&rules, &harness.merchant(id).await).await, laid_over(&built_in, OWN));
    assert_eq!(refused(&rules).await, [0, 0, 0]);
    rules.refuse_file();
    assert_eq!(refused(&rules).await, [1, 0, 0]);
    assert_eq!(*rules.of_deployment(), built_in);
    rules.replace(laid_over(&built_in, OTHER));
    assert_eq!(refused(&rules).await, [0, 0, 0]);
}

#[tokio::test]
async fn rules_and_switch_change_in_one_step_and_a_text_that_stays_is_not_looked_at() {
    let (harness, id) = screened().await;
    let built_in = Rules::built_in();
    let set = async |revision, text: &str, on| {
        let wanted = MerchantScreening { text: Some(text.to_owned()), on };
        harness.merchants.set_screening(id, revision, wanted, &built_in).await
    };
    set(0, OWN, Some(false)).await.unwrap();
    let merchant = harness.merchant(id).await;
    assert_eq!((merchant.screening.on, merchant.screening.rules_revision), (false, 1));
    let query = AuditQuery { scope: AuditScope::Merchant(id), limit: 100, oldest_first: true, ..AuditQuery::default() };
    let logged = harness.store.search_audit_log(query).await.unwrap().entries;
    let change = logged.last().unwrap();
    assert_eq!(logged.len(), 3, "created, switched on, one change");
    assert_eq!(change.before.as_deref(), Some(r#"{"Screening":true,"ScreeningRules":null}"#));
    assert!(change.after.as_deref().unwrap().starts_with(r#"{"Screening":false,"ScreeningRules":{"Bytes":"#));
    // Neither, where the text has a mistake or is decided on an older one.
    for (revision, text) in [(1, "[weights]\nGONE = 5\n"), (0, OTHER)] {
        assert!(set(revision, text, Some(true)).await.is_err());
        assert!(!harness.merchant(id).await.screening.on);
    }
    // A text of another version of Dropin, as the panel sends it back.
    let audit = harness.merchants.writer().entry(Some(id), dropin_access::AuditAction::MerchantChange, id);
    let gone = "[weights]\nGONE = 5\n";
    harness.store.set_screening_rules(id, 1, Some(gone.to_owned()), Some(true), audit).await.unwrap();
    let switched = set(2, "[weights]\r\nGONE = 5", Some(false)).await.unwrap();
    assert_eq!((switched.revision, switched.fingerprint), (3, built_in.fingerprint()));
    let kept = harness.store.find_screening_rules(id).await.unwrap().unwrap();
    assert_eq!((harness.merchant(id).await.screening.on, kept.text.as_deref()), (false, Some(gone)));
    assert_eq!(set(3, gone, None).await.unwrap().revision, 3, "nothing changes");
}

#[tokio::test]
async fn rules_that_cannot_be_read_leave_those_that_are_known_in_force() {
    let (harness, id) = screened().await;
    let built_in = Rules::built_in();
    let rules = harness.screening_rules(built_in.clone());
    let set = async |revision, text: &str| {
        harness.merchants.set_screening_rules(id, revision, Some(text.to_owned()), &built_in).await.unwrap();
        harness.merchant(id).await
    };
    let merchant = set(0, OWN).await;
    harness.put_rules_away(true);
    assert_eq!(of(&rules, &merchant).await, built_in, "none are known yet");
    harness.put_rules_away(false);
    assert_eq!(of(&rules, &merchant).await, laid_over(&built_in, OWN));
    let changed = set(1, OTHER).await;
    harness.put_rules_away(true);
    assert_eq!(of(&rules, &changed).await, laid_over(&built_in, OWN), "those of before");
    assert_eq!(refused(&rules).await, [0, 0, 2]);
    harness.put_rules_away(false);
    assert_eq!(of(&rules, &changed).await, laid_over(&built_in, OTHER));
}

#[tokio::test]
async fn rules_with_mistakes_and_those_decided_on_older_ones_are_refused() {
    let (harness, id) = screened().await;
    let of_deployment = laid_over(&Rules::built_in(), "[thresholds]\nREVIEW = 60\n");
    let set = async |revision, text: Option<&str>| {
        harness.merchants.set_screening_rules(id, revision, text.map(str::to_owned), &of_deployment).await
    };
    let told = async |text: &str| match set(0, Some(text)).await {
        Err(ScreeningRulesError::Mistakes(mistakes)) => mistakes.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(told("[weights]\nNEW_SHOPPER = 500\n").await, "line 2, column 15: must be a whole number, -100 to 100");
    let unfit = told("[thresholds]\nCHALLENGE = 65\n").await;
    assert!(unfit.contains("65, 60 and 85"), "over the deployment's rules: {unfit}");
    let long = "# \n".repeat(RulesFile::MAX_BYTES / 3 + 1);
    assert!(told(&long).await.contains("256 KiB"));
    set(0, Some(OTHER)).await.unwrap();
    assert_eq!(set(0, Some(OWN)).await, Err(ScreeningRulesError::Changed));
    let nobody = MerchantId::new(Uuid::from_u128(u128::MAX));
    let nobodys = harness.merchants.set_screening_rules(nobody, 0, None, &of_deployment).await;
    assert_eq!(nobodys, Err(ScreeningRulesError::NoMerchant));
    assert_eq!(set(1, Some(OTHER)).await.unwrap().revision, 1, "nothing changes");
    let query = AuditQuery { scope: AuditScope::Merchant(id), limit: 100, oldest_first: true, ..AuditQuery::default() };
    let logged = harness.store.search_audit_log(query).await.unwrap().entries;
    let change = logged.last().unwrap();
    assert_eq!((logged.len(), change.action.as_str()), (3, "MERCHANT_CHANGE"), "created, switched on, one change");
    assert_eq!(change.before.as_deref(), Some(r#"{"ScreeningRules":null}"#));
    let after = change.after.as_deref().unwrap();
    assert!(after.contains(r#""Bytes":41"#) && after.contains("Sha256") && !after.contains("spam"), "{after}");
}
