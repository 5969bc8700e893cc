//! The notifier against real receivers and a real store.

mod receiver;
mod runs;
mod world;
