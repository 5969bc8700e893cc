//! Operators of the admin panel over the real store and keys, with a clock that the test moves.

mod acceptance;
mod managing;
mod money;
mod signing_in;
mod world;
