//! The keys of the stash are lost or cannot be read while programs run: nothing is accepted that could not be paid, and no reference is used up.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dropin_tests::http::Http;
use dropin_tests::{Topology, World, cards, until};
use futures_util::future::join_all;
use serde_json::json;

use crate::PAID;
use crate::contracts::to_open;

/// One way to lose the keys.
#[derive(Debug, Clone, Copy)]
enum Loss {
    /// The key files are gone.
    Files,
    /// The whole folder is gone, as one that is not mounted any more.
    Folder,
    /// Other users may open the key files.
    Mode,
    /// Other users may open the key of card hashes.
    HashKey,
}

fn set_mode(files: &[PathBuf], mode: u32) {
    files.iter().for_each(|file| fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap());
}

fn move_files(files: &[PathBuf], from: &Path, to: &Path) {
    files
        .iter()
        .for_each(|file| fs::rename(from.join(file.file_name().unwrap()), to.join(file.file_name().unwrap())).unwrap());
}

async fn ready(world: &World) -> [u16; 2] {
    let statuses = [&world.stash, &world.checkout].map(|address| async move {
        let address = if world.programs.topology() == Topology::AllInOne { &world.base } else { address };
        Http::default().get(&format!("{address}/readyz")).await.status
    });
    join_all(statuses).await.try_into().unwrap()
}

crate::both! {
    /// 503 at the stash, the checkout and the drop-in's submit while the keys are away; the same ReferenceId and the same Session are paid once they are
    /// back. `/readyz` tells meanwhile.
    async fn lost_keys_are_503_and_use_no_reference_up(world: &World) {
        let (keys, aside) = (world.data.join("keys/stash"), world.data.join("aside"));
        fs::create_dir(&aside).unwrap();
        for loss in [Loss::Files, Loss::Folder, Loss::Mode, Loss::HashKey] {
            let stashed = world.stash(&world.merchant, cards::VISA).await;
            let card = json!({
                "PaymentMethod": "VISA", "StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint, "Capture": true,
            });
            let request = world.merchant.checkout_request(card);
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let shopper = world.shopper(&session);
            let typed = shopper.stash("cart", cards::VISA).await;
            let version = shopper.view().await["Version"].as_i64().unwrap();
            let files: Vec<_> = fs::read_dir(&keys).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "key")).collect();
            match loss {
                Loss::Files => move_files(&files, &keys, &aside),
                Loss::Folder => fs::rename(&keys, aside.join("stash")).unwrap(),
                Loss::Mode => set_mode(&files, 0o644),
                Loss::HashKey => set_mode(&[keys.join("card-hash.key")], 0o644),
            }
            until("/readyz says no", Duration::from_secs(5), async || (ready(world).await == [503, 503]).then_some(())).await;
            if !matches!(loss, Loss::HashKey) {
                let refused = shopper.stash_raw("another", cards::VISA, "2031").await.1;
                assert_eq!((refused.status, refused.code().as_str()), (503, "SERVICE_UNAVAILABLE"), "{loss:?}: {}", refused.text());
            }
            let refused = world.merchant.post_checkout("", None, &request).await;
            assert_eq!((refused.status, refused.code().as_str()), (503, "SERVICE_UNAVAILABLE"), "{loss:?}: {}", refused.text());
            let refused = shopper.submit(version, &typed).await;
            assert_eq!((refused.status, refused.code().as_str()), (503, "SERVICE_UNAVAILABLE"), "{loss:?}: {}", refused.text());
            match loss {
                Loss::Files => move_files(&files, &aside, &keys),
                Loss::Folder => fs::rename(aside.join("stash"), &keys).unwrap(),
                Loss::Mode => set_mode(&files, 0o600),
                Loss::HashKey => set_mode(&[keys.join("card-hash.key")], 0o600),
            }
            until("/readyz says yes", Duration::from_secs(5), async || (ready(world).await == [200, 200]).then_some(())).await;
            let paid = world.merchant.post_checkout("", None, &request).await;
            assert_eq!((paid.status, &paid.json()["Captured"]), (200, &json!(true)), "{loss:?}: {}", paid.text());
            let submitted = shopper.submit(version, &typed).await;
            assert_eq!(submitted.status, 200, "{loss:?}: {}", submitted.text());
            assert_eq!(shopper.rest().await["State"], "COMPLETED", "{loss:?}");
            world.receiver.expect(&session, &PAID).await;
            world.receiver.expect(paid.json()["OrderId"].as_str().unwrap(), &PAID[1..]).await;
        }
    }

    /// openContract, and the submit of a Session that opens a contract, are 503 while the newest credential key is away; the same request stores the
    /// card once it is back.
    async fn without_credential_keys_no_card_is_stored(world: &World) {
        let (keys, aside) = (world.data.join("keys/credential"), world.data.join("aside"));
        let request = to_open(world, cards::VISA, json!({})).await;
        let session = world.merchant.create_session(json!({"OpenContract": true})).await;
        let shopper = world.shopper(&session);
        let typed = shopper.stash("subscriber", cards::VISA).await;
        fs::rename(&keys, &aside).unwrap();
        until("checkout-api is not ready", Duration::from_secs(10), async || (ready(world).await[1] == 503).then_some(())).await;
        let refused = world.merchant.post_checkout("/openContract", None, &request).await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "SERVICE_UNAVAILABLE"), "{}", refused.text());
        let refused = shopper.submit_agreeing(&typed).await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "SERVICE_UNAVAILABLE"), "{}", refused.text());
        assert_eq!(world.merchant.session(&session).await["State"], "CREATED");
        fs::rename(&aside, &keys).unwrap();
        until("checkout-api is ready", Duration::from_secs(10), async || (ready(world).await[1] == 200).then_some(())).await;
        let opened = world.merchant.post_checkout("/openContract", None, &request).await;
        assert_eq!((opened.status, &opened.json()["State"]), (200, &json!("ACTIVE")), "{}", opened.text());
        let contract = opened.json()["ContractId"].as_str().unwrap().to_owned();
        world.receiver.expect(&contract, &["CONTRACT_OPENED"]).await;
        let submitted = shopper.submit_agreeing(&typed).await;
        assert_eq!((submitted.status, &submitted.json()["State"]), (200, &json!("COMPLETED")), "{}", submitted.text());
        world.receiver.expect(&session, &["SESSION_COMPLETED", "ORDER_AUTHORIZED", "CONTRACT_OPENED", "ORDER_PROCESSED"]).await;
    }
}
