//! The door for cards, over HTTP and on a real store.

mod backup;
mod canary;
mod limits;
mod pages;
mod posts;
mod world;
