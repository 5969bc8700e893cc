//! The program against receivers that mean it harm, all at once, beside one that is well.

#[allow(dead_code, reason = "shared with the tests of deliveries")]
#[path = "../delivery/receiver.rs"]
mod receiver;
#[allow(dead_code, reason = "shared with the tests of deliveries")]
#[path = "../delivery/world.rs"]
mod world;

mod attack;
mod load_test;
mod program;
