//! The stash over HTTP, on a real store.

mod backup;
mod canary;
mod flood;
mod limits;
mod pages;
mod posts;
mod world;
