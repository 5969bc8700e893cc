// Written by `npm run build` in crates/browser; do not edit.

use crate::Asset;

pub(crate) const VERSION: &str = "17549be2ddceabe4";

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
        sha384: "LCF+9aPhM4Yst/IZ9GsDFL+O3avBTrCLjjdaPNWyb+SZxCip7Ozy7PAbaSRxGC3S",
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
        sha384: "TKB86IlELTzq9+Ksdgwx84dnHcuODC0Ba5ICO0IWm+UskvxfSRSdMKx8W6u/7OFC",
    },
    Asset {
        path: "frame.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/frame.js"),
        sha384: "IHtvO8ChWynZZG3gTb330F9Frn5SgKyDHwi2yt1rfzmUs+No1dHT0+rst6+eOOx0",
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
        sha384: "svq81nmI6naSm2DNjHBUeKTfr52BUN5hOpAmDDzwjS4rr3siwiK6eGKB8cP76WUA",
    },
];
