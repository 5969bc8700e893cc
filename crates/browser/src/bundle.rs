// Written by `npm run build` in crates/browser; do not edit.

use crate::Asset;

pub(crate) const VERSION: &str = "453d766a382b6742";

pub(crate) static ASSETS: &[Asset] = &[
    Asset {
        path: "challenge.html",
        content_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../dist/challenge.html"),
        sha384: "S77+cpAJNfoMLl44wuA12fyXc6IuabEhrHgHiIajihiw2TerQ+EZEhnyzromlNQv",
    },
    Asset {
        path: "challenge.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/challenge.js"),
        sha384: "4rxWdwEAwUgkB00++E7L8lv3T/V5vXRHRpHu5XJCDtZX/uVN+yBfKKXfUeKuKzEu",
    },
    Asset {
        path: "dialog.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/dialog.js"),
        sha384: "w5kwB0fcN4lo1b3W5n+NkAkPuycweZo+iasQ21o9uHbTAEgO4pNmc49dgqo+cclF",
    },
    Asset {
        path: "dropin.d.ts",
        content_type: "text/plain; charset=utf-8",
        bytes: include_bytes!("../dist/dropin.d.ts"),
        sha384: "SlHP2HN7PaTBleE71/4v8GZ4cM5HKyGBvhXLdQNru59Xpy1q1pzaqfdUidWOaKvQ",
    },
    Asset {
        path: "dropin.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/dropin.js"),
        sha384: "ftFf4KLQxkbskOmGCXVSYUgDOkMdN9bTNgii+N5xezjURa5JGAj5FnGqknXj9oCs",
    },
    Asset {
        path: "frame.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../dist/frame.css"),
        sha384: "q9YWGLLQAAFdfejpfm8wKRuQ7cyCpHrhvk92h/vpthJjwYZ8ylurifIgZlsoF6FB",
    },
    Asset {
        path: "frame.html",
        content_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../dist/frame.html"),
        sha384: "PQJSK6hHkzvuXumXZ1xi6ZjHPr+gP6mQzQI9nEXnbVzOY7Fjb5QMHS4tK7nUovZn",
    },
    Asset {
        path: "frame.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/frame.js"),
        sha384: "JLNjjpd/5tAVVXzvbP6Cgu7dXnrqpz88tz3H+OXXg1JoCB769I1YihpFAeFsdE4i",
    },
    Asset {
        path: "locales/ar.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/ar.json"),
        sha384: "jN1pfiICjos0PJxZAuB9bJH4lL3icXh24TovD46WJvbgfcGr2KrAwlVYsBjS5YW5",
    },
    Asset {
        path: "locales/de.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/de.json"),
        sha384: "lBYeeIWCsTkbey8X/gbaxPeiRH3/OThypRitZM9f3qbCVvMPNG0Pg7T3NaoeYlyT",
    },
    Asset {
        path: "locales/en.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/en.json"),
        sha384: "uPzREO8yQWQ6K425/V8bvxLyB9gTm/WJ5auqiznlLbim5GHnJR3McLqv3iF0EYwo",
    },
    Asset {
        path: "manifest.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/manifest.json"),
        sha384: "R4hXwUwdEwt5YU+3VPMiZenvkRnWHZDFGIRoRwzHFDBhuk+BO8u6BQRACqiWiPh1",
    },
    Asset {
        path: "wallet.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/wallet.js"),
        sha384: "yAiIlPGVVyhGKCRy9Eh/G9GM1v0Es+ZquCiKFk2EMKuYVub4cuYlVI+ZkBPooWdB",
    },
];
