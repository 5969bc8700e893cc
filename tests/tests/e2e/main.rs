//! One binary; a module per chapter. Every case is written once and runs in both topologies (see `both!`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod browser;
mod faults;
mod hygiene;
mod payment;
mod repeats;
mod session;
mod shop;
mod tenants;

/// Runs a case once per topology, each as a test of its own.
#[macro_export]
macro_rules! both {
    ($($(#[$doc:meta])* async fn $name:ident($world:ident: &World) $body:block)+) => {
        $(
            $(#[$doc])*
            async fn $name($world: &dropin_tests::World) $body
        )+
        mod all_in_one_on_sqlite {
            $(
                #[actix_web::test]
                async fn $name() {
                    let world = dropin_tests::World::start(dropin_tests::Topology::AllInOne).await;
                    super::$name(&world).await;
                    world.finish().await;
                }
            )+
        }
        mod every_program_on_postgresql {
            $(
                #[actix_web::test]
                async fn $name() {
                    let world = dropin_tests::World::start(dropin_tests::Topology::Split).await;
                    super::$name(&world).await;
                    world.finish().await;
                }
            )+
        }
    };
}
