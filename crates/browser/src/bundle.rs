// Written by `npm run build` in crates/browser; do not edit.

use crate::Asset;

pub(crate) const VERSION: &str = "de55c7fdb4be200f";

pub(crate) static ASSETS: &[Asset] = &[
    Asset {
        path: "dropin.d.ts",
        content_type: "text/plain; charset=utf-8",
        bytes: include_bytes!("../dist/dropin.d.ts"),
        sha384: "u1A1pNXcVBVo3e7cerGyafO78CbxAY62KVjGsd+VyzU8NwrS1LkLuwuWtnrb4jx7",
    },
    Asset {
        path: "dropin.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/dropin.js"),
        sha384: "LWxFQLoNz3QLTUeAzZhGkoZsOAjkx7ofVRiPVPatmTk5DKta5cQaLwBCV7gI4+Ix",
    },
    Asset {
        path: "frame.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../dist/frame.css"),
        sha384: "zPUTZG0HygdIgbat2+KpJ1IaFmylTiRTQ4sD/5X+WM/vzJo1bnDTPjILOyRBF7da",
    },
    Asset {
        path: "frame.html",
        content_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../dist/frame.html"),
        sha384: "PosEAsjW6y0nACf8GEidp3xleD2Ug47gvwj/EuKdurFioDsRImXW2URYLrD3I05L",
    },
    Asset {
        path: "frame.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/frame.js"),
        sha384: "T0js9vl+axcomHsB0u6+clG4NlieJ7S01Z4xP3e1L2ziPPSPNZUTk17ZBfgd2OrD",
    },
    Asset {
        path: "locales/ar.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/ar.json"),
        sha384: "kJU30Pzjxpfu6ZA+WlJBOUkfj02iwQAtwNlxAqTl+F2eUyQY6//Harwkqe8lIKdM",
    },
    Asset {
        path: "locales/de.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/de.json"),
        sha384: "rDi2HYIIqPUztnCIY115e2VF4k4Eh50fQNBW/2+osr+AyrA/qnpGgXyngOqU4opC",
    },
    Asset {
        path: "locales/en.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/en.json"),
        sha384: "kH1uoojkRwMOoLzfP0PktJ+6OYPxLz6pPTC87kDtC0xMYoDRPkCEqflg+9DRNbXK",
    },
    Asset {
        path: "manifest.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/manifest.json"),
        sha384: "5aDt8N4busrYhiN0h4Yptw3BofWySNz7Rer5VsFrd1PiJ7r648KO036wZXQRT3jl",
    },
];
