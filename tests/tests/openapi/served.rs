//! Every service serves its document and its page beside its operations, in both topologies.

use actix_web::http::Method;
use dropin_tests::{Http, Topology, World};

use crate::SERVICES;

async fn every_service_serves_its_documents(world: &World) {
    let http = Http::default();
    let addresses = [&world.base, &world.checkout, &world.asset, &world.stash];
    for (service, address) in SERVICES.iter().zip(addresses) {
        let address = format!("{address}{}", service.docs.path_prefix);
        let document = http.get(&format!("{address}/openapi.json")).await;
        assert_eq!(
            (document.status, document.header("content-type")),
            (200, Some("application/json")),
            "{}",
            service.name
        );
        assert_eq!(document.text(), service.docs.document, "{}", service.name);
        assert_eq!(document.header("access-control-allow-origin"), Some("*"));
        let page = http.get(&format!("{address}/docs/")).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{}",
            service.name
        );
        assert_eq!(page.text(), service.docs.page, "{}", service.name);
        let policy = page.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("sandbox") && !policy.contains("script"),
            "{policy}"
        );
        let folder = http.get(&format!("{address}/docs")).await;
        assert_eq!((folder.status, folder.header("location")), (308, Some("docs/")), "{}", service.name);
        let head = http.send(Method::HEAD, &format!("{address}/docs/"), &[], Vec::new()).await.unwrap();
        assert_eq!((head.status, head.bytes.len()), (200, 0), "{}", service.name);
        let posted = http.send(Method::POST, &format!("{address}/openapi.json"), &[], Vec::new()).await.unwrap();
        assert_eq!((posted.status, posted.code().as_str()), (405, "METHOD_NOT_ALLOWED"), "{}", service.name);
    }
}

#[actix_web::test]
async fn one_process_serves_them_below_each_prefix() {
    let world = World::start(Topology::AllInOne).await;
    every_service_serves_its_documents(&world).await;
    world.finish().await;
}

#[actix_web::test]
async fn each_program_serves_its_own() {
    let world = World::start(Topology::Split).await;
    every_service_serves_its_documents(&world).await;
    world.finish().await;
}
