//! The notifier against real receivers and a real store.

mod endpoints;
mod receiver;
mod runs;
mod wake;
mod world;
