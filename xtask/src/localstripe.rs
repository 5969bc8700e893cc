//! localstripe, a stand-in for Stripe that others wrote, for tests of `dropin-processor-stripe` and of the whole: a program that the tests start, by a
//! fixed version and checksum, and never a part of what is built.

use crate::python::{PythonProgram, Requirements};

/// It is published as source: what builds it goes before it, by its checksum too.
pub(crate) const LOCALSTRIPE: PythonProgram = PythonProgram {
    name: "localstripe",
    folder: "localstripe",
    requirements: &[
        Requirements { file: "xtask/localstripe/needed.txt", options: &["--require-hashes", "--only-binary", ":all:"] },
        Requirements {
            file: "xtask/localstripe/requirements.txt",
            options: &["--require-hashes", "--no-build-isolation"],
        },
    ],
};
