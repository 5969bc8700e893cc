//! The cases, by what they are about. Each works on a processor of its own.
#![allow(missing_docs, reason = "a case is named for what it proves")]

pub mod cards;
pub mod endings;
pub mod pages;
pub mod recovery;
pub mod stored;
