use std::time::Duration;

use dropin_ports::{StoreError, StoreHealth};
use dropin_store::{Deployment, DeploymentMode, Role, StartRefused, Store, StoreConfig};
use dropin_store_contract::Raw;

fn open(url: &str, role: Role, mode: Option<DeploymentMode>, key: Option<&str>) -> Store {
    let store = Store::open(StoreConfig::new(url, role)).unwrap();
    store.set_deployment(Deployment { mode, master_key: key.map(str::to_owned) }, true);
    store
}

/// The first service writes down what it is; others are refused until that is forgotten.
pub(crate) async fn belongs_to_one(url: &str) {
    use DeploymentMode::{Production, Sandbox};
    let start = async |mode, key| {
        let store = open(url, Role::Service, mode, key);
        let (checked, ready) = (store.check_start().await.unwrap(), store.ready().await);
        store.close();
        match &checked {
            Ok(()) => assert_eq!(ready, Ok(())),
            Err(refused) => assert_eq!(ready, Err(StoreError::Refused(refused.to_string()))),
        }
        checked
    };
    let remembered = async || open(url, Role::Tool, None, None).find_deployment().await.unwrap();
    let tool = open(url, Role::Tool, Some(Sandbox), Some("aa"));
    assert_eq!(tool.check_start().await, Ok(Ok(())));
    assert_eq!(remembered().await, Deployment::default(), "a tool writes nothing down");
    // A program without a master key.
    assert_eq!(start(Some(Production), None).await, Ok(()));
    assert_eq!(start(Some(Production), Some("aa")).await, Ok(()));
    assert_eq!(remembered().await, Deployment { mode: Some(Production), master_key: Some("aa".to_owned()) });
    assert_eq!(start(None, None).await, Ok(()), "what a program does not know, fits");
    let other_key = StartRefused::MasterKey { remembered: "aa".to_owned(), configured: "bb".to_owned() };
    assert_eq!(start(Some(Production), Some("bb")).await, Err(other_key));
    let other_mode = StartRefused::Mode { remembered: Production, configured: Sandbox };
    assert_eq!(start(Some(Sandbox), Some("aa")).await, Err(other_mode));
    tool.forget_deployment(false, true, dropin_store_contract::audited()).await.unwrap();
    assert_eq!(start(Some(Production), Some("bb")).await, Ok(()));
    tool.forget_deployment(true, false, dropin_store_contract::audited()).await.unwrap();
    assert_eq!(start(Some(Sandbox), Some("bb")).await, Ok(()));
    assert_eq!(remembered().await, Deployment { mode: Some(Sandbox), master_key: Some("bb".to_owned()) });
}

/// What is a default, does not fit, or was forgotten while the program runs, is not written down.
pub(crate) async fn remembers_what_was_chosen_and_fits(url: &str) {
    let (sandbox, production) = (Some(DeploymentMode::Sandbox), Some(DeploymentMode::Production));
    let remembered = async || open(url, Role::Tool, None, None).find_deployment().await.unwrap();
    let key = |key: &str| Some(key.to_owned());
    let start = async |mode, is_chosen, own: &str| {
        let mut config = StoreConfig::new(url, Role::Service);
        config.write_check = Duration::ZERO;
        let store = Store::open(config).unwrap();
        store.set_deployment(Deployment { mode, master_key: key(own) }, is_chosen);
        let checked = store.check_start().await.unwrap();
        (store, checked)
    };
    let (store, checked) = start(sandbox, false, "aa").await;
    assert_eq!((checked, remembered().await), (Ok(()), Deployment { mode: None, master_key: key("aa") }), "a default");
    store.close();
    let (store, checked) = start(production, true, "bb").await;
    assert!(matches!(checked, Err(StartRefused::MasterKey { .. })), "{checked:?}");
    assert_eq!(remembered().await.mode, None, "a program with another key is none of this deployment");
    store.close();
    let (store, checked) = start(production, true, "aa").await;
    assert_eq!((checked, remembered().await.mode), (Ok(()), production));
    open(url, Role::Tool, None, None).forget_deployment(true, true, dropin_store_contract::audited()).await.unwrap();
    assert_eq!(store.ready().await, Ok(()));
    assert_eq!(remembered().await, Deployment::default(), "it runs on, and writes nothing back");
    store.close();
    let (store, checked) = start(sandbox, true, "bb").await;
    assert_eq!((checked, remembered().await.mode), (Ok(()), sandbox));
    store.close();
}

/// A look writes, and one a moment later does not.
pub(crate) async fn proves_writes(url: &str, raw: &dyn Raw) {
    let written_at = || raw.values("SELECT CAST(written_at AS TEXT) AS value FROM deployment");
    let mut config = StoreConfig::new(url, Role::Service);
    config.write_check = Duration::from_secs(600);
    let store = Store::open(config.clone()).unwrap();
    assert_eq!(store.ready().await, Ok(()));
    let first = written_at();
    assert_eq!(store.ready().await, Ok(()));
    assert_eq!(written_at(), first, "proved a moment ago");
    store.close();
    config.write_check = Duration::ZERO;
    let store = Store::open(config).unwrap();
    assert_eq!(store.ready().await, Ok(()));
    assert_ne!(written_at(), first);
    assert!(store.check_all().await.iter().all(|check| check.result.is_ok()), "{:?}", store.check_all().await);
    raw.execute("DELETE FROM deployment").unwrap();
    assert!(matches!(store.ready().await, Err(StoreError::Corrupt { table: "deployment", .. })));
}
