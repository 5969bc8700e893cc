use std::sync::Arc;
use std::time::Duration;

use dropin_access::{
    ApiUser, AuditAction, Endpoint, EndpointSettings, Merchant, MerchantParts, Origin, PasswordHash, Permission,
    Permissions, Retiring, SavedCardKind, SavedCardSettings, ScreeningSettings, SealedSecret,
};
use dropin_catalogue::{
    Adjustment, AdjustmentParts, Adjustments, MerchantMethods, PayLaterRegion, Range, SalesChannel, find_method,
};
use dropin_kernel::{EndpointId, MerchantId};
use dropin_money::Currency;
use dropin_ports::{
    AccountChanged, AuditQuery, AuditScope, EndpointChange, MerchantInserted, MerchantScreeningRules, MerchantSettings,
    ScreeningRulesChanged, UserChange, UserInserted,
};

use crate::Harness;
use crate::values::{at, audit_entry, audited, fresh, new_endpoint, new_merchant, new_user};

use AccountChanged::{Done, Ended, Missing, Stale};

pub async fn a_merchant_comes_back_whole(harness: Arc<Harness>) {
    let mut new = new_merchant(true);
    let currencies = Currency::ALL.iter().rev().copied().collect();
    let edit = |parts: &mut MerchantParts| (parts.currencies, parts.methods) = (currencies, particular_methods());
    new.merchant = new.merchant.edited(edit).unwrap();
    assert_eq!(harness.access.insert_merchant(new.clone()).await, Ok(MerchantInserted::Done));
    assert_eq!(harness.access.find_merchant(new.merchant.id).await, Ok(Some(new.merchant.clone())));
    assert_eq!(harness.access.find_user(&new.user.username).await, Ok(Some(new.user.clone())));
    assert_eq!(harness.access.list_users(new.merchant.id).await, Ok(vec![new.user]));
    let endpoint = new.endpoint.unwrap();
    assert_eq!(harness.access.list_endpoints(new.merchant.id).await, Ok(vec![endpoint]));
}

/// Everything that can be particular about methods.
pub(super) fn particular_methods() -> MerchantMethods {
    let mut adjustments = Adjustments::default();
    adjustments.set(find_method("PAYPAL").unwrap(), Adjustment::default().with_offered(false));
    let narrow = AdjustmentParts {
        offered: Some(true),
        countries: Some(vec!["NL".to_owned(), "DE".to_owned()]),
        currencies: Some(vec![Currency::Eur]),
        amounts: Some(vec![
            Range::new(Currency::Eur, 5, Some(7)).unwrap(),
            Range::new(Currency::Kwd, 0, None).unwrap(),
        ]),
        channels: Some(vec![SalesChannel::DropIn]),
        recurring: Some(false),
        capture_later: Some(false),
        sandbox: Some(true),
    };
    adjustments.set(find_method("IDEAL").unwrap(), Adjustment::new(narrow).unwrap());
    let pay_later_clients =
        [(PayLaterRegion::Europe, "größe".to_owned()), (PayLaterRegion::Oceania, "oc-1".to_owned())].into();
    let google_pay = "example:shop-17:NL:BCR2DN4T".parse().ok();
    MerchantMethods { adjustments, pay_later_clients, google_pay, address_check: true }
}

pub async fn a_user_name_is_taken_once(harness: Arc<Harness>) {
    let first = new_merchant(false);
    harness.access.insert_merchant(first.clone()).await.unwrap();
    let mut second = new_merchant(true);
    second.user.username = first.user.username.clone();
    assert_eq!(harness.access.insert_merchant(second.clone()).await, Ok(MerchantInserted::DuplicateUsername));
    assert_eq!(harness.access.find_merchant(second.merchant.id).await, Ok(None), "half a merchant was written");
    assert_eq!(harness.access.list_endpoints(second.merchant.id).await, Ok(vec![]));
    let mut third = new_user(first.merchant.id);
    third.username = first.user.username.clone();
    assert_eq!(harness.access.insert_user(third, audited()).await, Ok(UserInserted::DuplicateUsername));
    assert_eq!(harness.access.list_users(first.merchant.id).await, Ok(vec![first.user]));
}

pub async fn merchants_are_listed_oldest_first(harness: Arc<Harness>) {
    assert_eq!(harness.access.list_merchants().await, Ok(vec![]));
    let mut expected = vec![];
    for age in [30, 10, 20] {
        let mut new = new_merchant(age == 10);
        let edit = |parts: &mut MerchantParts| {
            parts.created_at = at(age);
            parts.currencies.truncate(usize::try_from(age / 10).unwrap());
            parts.origins.truncate(usize::try_from(age / 20).unwrap());
        };
        new.merchant = new.merchant.edited(edit).unwrap();
        harness.access.insert_merchant(new.clone()).await.unwrap();
        expected.push(new.merchant);
    }
    expected.sort_by_key(|merchant| merchant.created_at);
    assert_eq!(harness.access.list_merchants().await, Ok(expected));
}

pub async fn what_does_not_exist_is_not_found(harness: Arc<Harness>) {
    let nobody = MerchantId::new(fresh());
    assert_eq!(harness.access.find_merchant(nobody).await, Ok(None));
    assert_eq!(harness.access.find_user("nobody").await, Ok(None));
    assert_eq!(harness.access.list_users(nobody).await, Ok(vec![]));
    assert_eq!(harness.access.list_endpoints(nobody).await, Ok(vec![]));
    assert_eq!(harness.access.insert_user(new_user(nobody), audited()).await, Ok(UserInserted::NoMerchant));
    assert_eq!(harness.access.insert_endpoint(new_endpoint(nobody), audited()).await, Ok(Missing));
    assert_eq!(harness.access.set_merchant(nobody, MerchantSettings::default(), audited()).await, Ok(Missing));
    assert_eq!(harness.access.change_user("nobody", UserChange::Revoked(at(1)), audited()).await, Ok(Missing));
    let removed = EndpointChange::Removed(at(1));
    assert_eq!(harness.access.change_endpoint(EndpointId::new(fresh()), removed, audited()).await, Ok(Missing));
    // User names are compared exactly.
    let new = new_merchant(false);
    harness.access.insert_merchant(new.clone()).await.unwrap();
    assert_eq!(harness.access.find_user(&new.user.username.to_uppercase()).await, Ok(None));
}

pub async fn a_merchant_is_set_in_parts(harness: Arc<Harness>) {
    let (other, _) = harness.merchant().await;
    let mut new = new_merchant(false);
    let origin = |raw| vec![Origin::parse(raw).unwrap()];
    let production =
        |parts: &mut MerchantParts| (parts.sandbox, parts.origins) = (false, origin("https://old.example"));
    new.merchant = new.merchant.edited(production).unwrap();
    harness.access.insert_merchant(new.clone()).await.unwrap();
    let id = new.merchant.id;
    let set = async |settings| {
        assert_eq!(harness.access.set_merchant(id, settings, audited()).await, Ok(Done));
        harness.access.find_merchant(id).await.unwrap().unwrap()
    };
    assert_eq!(set(MerchantSettings::default()).await, new.merchant, "nothing was to be set");
    let name = "Neuer Name".to_owned();
    let named = new.merchant.clone().edited(|parts| parts.name.clone_from(&name)).unwrap();
    assert_eq!(set(MerchantSettings { name: Some(name), ..MerchantSettings::default() }).await, named);
    let whole = MerchantSettings {
        decided_on: None,
        name: None,
        currencies: Some(vec![Currency::Eur, Currency::Usd]),
        origins: Some(origin("https://new.example")),
        session_lifetime: Some(Duration::from_micros(61_000_001)),
        attempts_allowed: Some(20),
        saved_cards_offered: Some(true),
        saved_card_kind: Some(SavedCardKind::Unscheduled),
        screening: Some(true),
        methods: Some(particular_methods()),
        processors: "acquirer,main currencies=EUR\nmain".parse().ok(),
    };
    let expected = MerchantParts {
        currencies: vec![Currency::Eur, Currency::Usd],
        origins: origin("https://new.example"),
        session_lifetime: Duration::from_micros(61_000_001),
        attempts_allowed: 20,
        saved_cards: SavedCardSettings { offered: true, kind: SavedCardKind::Unscheduled },
        screening: ScreeningSettings { on: true, rules_revision: 0 },
        methods: particular_methods(),
        processors: "acquirer,main currencies=EUR\nmain".parse().unwrap(),
        ..named.into_parts()
    };
    let changed = Merchant::restore(expected).unwrap();
    assert_eq!(set(whole).await, changed);
    let off = MerchantSettings { saved_cards_offered: Some(false), ..MerchantSettings::default() };
    let changed = changed.edited(|parts| parts.saved_cards.offered = false).unwrap();
    assert_eq!(set(off).await, changed);
    let off = MerchantSettings { screening: Some(false), ..MerchantSettings::default() };
    let changed = changed.edited(|parts| parts.screening.on = false).unwrap();
    assert_eq!(set(off).await, changed);
    let bare = MerchantSettings { origins: Some(vec![]), ..MerchantSettings::default() };
    let changed = changed.edited(|parts| parts.origins.clear()).unwrap();
    assert_eq!(set(bare).await, changed);
    let plain = MerchantSettings { methods: Some(MerchantMethods::default()), ..MerchantSettings::default() };
    let expected = changed.edited(|parts| parts.methods = MerchantMethods::default()).unwrap();
    assert_eq!(set(plain).await, expected);
    assert_eq!(harness.access.find_merchant(other.id).await, Ok(Some(other)), "nobody else");
}

pub async fn screening_rules_are_kept_beside_a_merchant(harness: Arc<Harness>) {
    let access = &harness.access;
    let nobody = MerchantId::new(fresh());
    assert_eq!(access.find_screening_rules(nobody).await, Ok(None));
    assert_eq!(access.set_screening_rules(nobody, 0, None, None, audited()).await, Ok(ScreeningRulesChanged::Missing));
    let mut new = new_merchant(false);
    new.merchant = new.merchant.edited(|parts| parts.screening.on = true).unwrap();
    access.insert_merchant(new.clone()).await.unwrap();
    let (other, _) = harness.merchant().await;
    let id = new.merchant.id;
    let known = async || {
        let found = access.find_screening_rules(id).await.unwrap().unwrap();
        let merchant = access.find_merchant(id).await.unwrap().unwrap();
        assert_eq!(merchant.screening, ScreeningSettings { on: true, rules_revision: found.revision });
        (found.revision, found.text)
    };
    assert_eq!(known().await, (0, None));
    let long = format!("# größer 🛍️\n{}", "#".repeat(256 * 1024 - 20));
    for (revision, text) in [(0, Some("[weights]\n".to_owned())), (1, Some(long)), (2, None), (3, None)] {
        let entry = audit_entry(AuditAction::MerchantChange, Some(id), id);
        let set = access.set_screening_rules(id, revision, text.clone(), None, entry).await;
        assert_eq!(set, Ok(ScreeningRulesChanged::Done));
        assert_eq!(known().await, (revision + 1, text), "a revision is never used twice, though there are no rules");
    }
    for stale in [0, 3, 5] {
        let entry = audit_entry(AuditAction::MerchantChange, Some(id), id);
        let set = access.set_screening_rules(id, stale, Some("late".to_owned()), Some(true), entry).await;
        assert_eq!(set, Ok(ScreeningRulesChanged::Stale));
    }
    assert_eq!(known().await, (4, None));
    let entry = audit_entry(AuditAction::MerchantChange, Some(id), id);
    let set = access.set_screening_rules(id, 4, Some("[weights]\n".to_owned()), Some(false), entry).await;
    assert_eq!(set, Ok(ScreeningRulesChanged::Done));
    let switched = access.find_merchant(id).await.unwrap().unwrap();
    assert_eq!(switched.screening, ScreeningSettings { on: false, rules_revision: 5 }, "both in one step");
    let query = AuditQuery { scope: AuditScope::Merchant(id), limit: 100, ..AuditQuery::default() };
    let logged = harness.audit_log.search_audit_log(query).await.unwrap().entries;
    assert_eq!(logged.len(), 6, "the merchant and five changes: what was not done is not on the audit log");
    let none = MerchantScreeningRules { revision: 0, text: None };
    assert_eq!(access.find_screening_rules(other.id).await, Ok(Some(none)), "nobody else");
}

pub async fn of_many_who_set_screening_rules_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let setters: Vec<_> = (0..16)
        .map(|number| {
            let (harness, id, text) = (harness.clone(), merchant.id, Some(format!("# {number}")));
            tokio::spawn(async move { harness.access.set_screening_rules(id, 0, text, None, audited()).await.unwrap() })
        })
        .collect();
    let mut won = Vec::new();
    for (number, setter) in setters.into_iter().enumerate() {
        if setter.await.unwrap() == ScreeningRulesChanged::Done {
            won.push(format!("# {number}"));
        }
    }
    let found = harness.access.find_screening_rules(merchant.id).await.unwrap().unwrap();
    assert_eq!((found.revision, vec![found.text.unwrap()]), (1, won));
}

pub async fn of_many_who_set_a_merchant_the_last_one_wins_whole(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let lists = [vec![Currency::Usd, Currency::Eur], vec![Currency::Eur, Currency::Usd, Currency::Jpy]];
    let setters: Vec<_> = (0..16)
        .map(|number| {
            let (harness, id) = (harness.clone(), merchant.id);
            let settings = MerchantSettings { currencies: Some(lists[number % 2].clone()), ..Default::default() };
            tokio::spawn(async move { harness.access.set_merchant(id, settings, audited()).await })
        })
        .collect();
    for setter in setters {
        assert_eq!(setter.await.unwrap(), Ok(Done));
    }
    let found = harness.access.find_merchant(merchant.id).await.unwrap().unwrap();
    assert!(lists.contains(&found.currencies), "{:?}", found.currencies);
}

pub async fn of_many_who_set_a_merchant_as_they_saw_it_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let setters: Vec<_> = (0..16)
        .map(|number| {
            let (harness, id) = (harness.clone(), merchant.id);
            let (decided_on, name) = (Some(merchant.clone()), Some(format!("Number {number}")));
            let settings = MerchantSettings { decided_on, name, ..MerchantSettings::default() };
            tokio::spawn(async move { harness.access.set_merchant(id, settings, audited()).await.unwrap() })
        })
        .collect();
    let mut won = Vec::new();
    for (number, setter) in setters.into_iter().enumerate() {
        match setter.await.unwrap() {
            Done => won.push(format!("Number {number}")),
            other => assert_eq!(other, Stale),
        }
    }
    let found = harness.access.find_merchant(merchant.id).await.unwrap().unwrap();
    assert_eq!(vec![found.name.clone()], won);
    // A list of its own, of tables beside its row, is a part of what was seen; and nothing is written down of what was not done.
    let lists =
        MerchantSettings { origins: Some(vec![Origin::parse("https://a.example").unwrap()]), ..Default::default() };
    assert_eq!(harness.access.set_merchant(merchant.id, lists, audited()).await, Ok(Done));
    let late = MerchantSettings { decided_on: Some(found), attempts_allowed: Some(7), ..Default::default() };
    let before = harness.count("audit_log", "TRUE");
    assert_eq!(harness.access.set_merchant(merchant.id, late.clone(), audited()).await, Ok(Stale));
    let found = harness.access.find_merchant(merchant.id).await.unwrap().unwrap();
    assert_eq!((found.attempts_allowed, harness.count("audit_log", "TRUE")), (merchant.attempts_allowed, before));
    let seen = MerchantSettings { decided_on: Some(found), ..late };
    assert_eq!(harness.access.set_merchant(merchant.id, seen, audited()).await, Ok(Done));
}

pub async fn a_merchant_has_several_users(harness: Arc<Harness>) {
    let new = new_merchant(false);
    harness.access.insert_merchant(new.clone()).await.unwrap();
    let mut second = new_user(new.merchant.id);
    second.permissions = [Permission::OrderRead, Permission::Checkout].into_iter().collect();
    second.previous = Some(Retiring { credential: PasswordHash(vec![9]), until: at(7) });
    assert_eq!(harness.access.insert_user(second.clone(), audited()).await, Ok(UserInserted::Done));
    assert_eq!(harness.access.list_users(new.merchant.id).await, Ok(vec![new.user, second.clone()]));
    let one: Permissions = [Permission::SessionRead].into_iter().collect();
    assert_eq!(harness.access.change_user(&second.username, UserChange::Permissions(one), audited()).await, Ok(Done));
    let changed = ApiUser { permissions: one, ..second };
    assert_eq!(harness.access.find_user(&changed.username).await, Ok(Some(changed)));
}

pub async fn a_password_retires_the_one_before(harness: Arc<Harness>) {
    let new = new_merchant(false);
    harness.access.insert_merchant(new.clone()).await.unwrap();
    let username = &new.user.username;
    let rotate = async |byte: u8, old_until| {
        let change = UserChange::Password { new: PasswordHash(vec![byte]), old_until };
        assert_eq!(harness.access.change_user(username, change, audited()).await, Ok(Done));
        harness.access.find_user(username).await.unwrap().unwrap()
    };
    let retired = |credential, until| Some(Retiring { credential, until });
    let first = ApiUser {
        password: PasswordHash(vec![1]),
        previous: retired(new.user.password.clone(), at(10)),
        ..new.user.clone()
    };
    assert_eq!(rotate(1, Some(at(10))).await, first);
    let second =
        ApiUser { password: PasswordHash(vec![2]), previous: retired(PasswordHash(vec![1]), at(20)), ..first.clone() };
    assert_eq!(rotate(2, Some(at(20))).await, second, "the one before that has ended");
    assert_eq!(rotate(3, None).await, ApiUser { password: PasswordHash(vec![3]), previous: None, ..second });
}

pub async fn a_revoked_user_stays_revoked(harness: Arc<Harness>) {
    let new = new_merchant(false);
    harness.access.insert_merchant(new.clone()).await.unwrap();
    let revoke = |second| harness.access.change_user(&new.user.username, UserChange::Revoked(at(second)), audited());
    assert_eq!((revoke(5).await, revoke(6).await), (Ok(Done), Ok(Ended)));
    for change in [
        UserChange::Permissions([Permission::Checkout].into_iter().collect()),
        UserChange::Password { new: PasswordHash(vec![1]), old_until: None },
    ] {
        assert_eq!(harness.access.change_user(&new.user.username, change, audited()).await, Ok(Ended));
    }
    let revoked = ApiUser { revoked_at: Some(at(5)), ..new.user.clone() };
    assert_eq!(harness.access.find_user(&new.user.username).await, Ok(Some(revoked.clone())));
    assert_eq!(harness.access.list_users(new.merchant.id).await, Ok(vec![revoked]));
}

pub async fn endpoints_are_added_moved_and_removed(harness: Arc<Harness>) {
    let (merchant, first) = harness.merchant().await;
    let second = Endpoint {
        previous: Some(Retiring { credential: SealedSecret(vec![9]), until: at(7) }),
        settings: EndpointSettings { events: "REFUND_*".parse().ok(), retry: "7s;8m".parse().ok() },
        ..new_endpoint(merchant.id)
    };
    assert_eq!(harness.access.insert_endpoint(second.clone(), audited()).await, Ok(Done));
    assert_eq!(harness.access.list_endpoints(merchant.id).await, Ok(vec![first.clone(), second.clone()]));
    let change = async |change| harness.access.change_endpoint(first.id, change, audited()).await.unwrap();
    let url = "https://elsewhere.example/".to_owned();
    assert_eq!(change(EndpointChange::Url(url.clone())).await, Done);
    let new = SealedSecret(vec![1]);
    assert_eq!(change(EndpointChange::Secret { new: new.clone(), old_until: Some(at(9)) }).await, Done);
    let rotated = Endpoint {
        url,
        secret: new,
        previous: Some(Retiring { credential: first.secret.clone(), until: at(9) }),
        ..first.clone()
    };
    assert_eq!(harness.access.list_endpoints(merchant.id).await, Ok(vec![rotated.clone(), second.clone()]));
    let ended = SealedSecret(vec![2]);
    assert_eq!(change(EndpointChange::Secret { new: ended.clone(), old_until: None }).await, Done);
    let rotated = Endpoint { secret: ended, previous: None, ..rotated };
    assert_eq!(harness.access.list_endpoints(merchant.id).await, Ok(vec![rotated.clone(), second.clone()]));
    let (events, retry) = ("ORDER_*,SESSION_FAILED".parse().ok(), "5s,1m;1d".parse().ok());
    assert_eq!(change(EndpointChange::Events(events.clone())).await, Done);
    assert_eq!(change(EndpointChange::Retry(retry.clone())).await, Done);
    let set = Endpoint { settings: EndpointSettings { events, retry }, ..rotated.clone() };
    assert_eq!(harness.access.list_endpoints(merchant.id).await, Ok(vec![set, second.clone()]));
    assert_eq!(change(EndpointChange::Events(None)).await, Done);
    assert_eq!(change(EndpointChange::Retry(None)).await, Done);
    assert_eq!(harness.access.list_endpoints(merchant.id).await, Ok(vec![rotated.clone(), second.clone()]));
    assert_eq!(change(EndpointChange::Removed(at(3))).await, Done);
    for late in [
        EndpointChange::Removed(at(4)),
        EndpointChange::Url("https://late.example/".to_owned()),
        EndpointChange::Events(None),
        EndpointChange::Retry(None),
    ] {
        assert_eq!(change(late).await, Ended);
    }
    assert_eq!(harness.access.list_endpoints(merchant.id).await, Ok(vec![second]));
    let kept = format!("id = '{}' AND url = '{}' AND removed_at IS NOT NULL", rotated.id, rotated.url);
    assert_eq!(harness.count("endpoint", &kept), 1, "for what is parked there");
}
