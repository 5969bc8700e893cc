//! The program as an operator starts it.

#[path = "../../../settler/tests/catalogue_file/mod.rs"]
mod catalogue_file;

#[test]
fn a_wrong_file_of_payment_methods_is_refused_at_the_start() {
    catalogue_file::must_be_refused(env!("CARGO_BIN_EXE_session-api"));
}
