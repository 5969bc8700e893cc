// Written by `npm run build` in crates/browser; do not edit.

use crate::Asset;

pub(crate) const VERSION: &str = "75011535ab2e742c";

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
        sha384: "C+cRgIQ4tDXbL4JfEbYhciHw4ivEbsaPqUc4bYOu+nUTCUHLRHSSaUlNLJcZhzhV",
    },
    Asset {
        path: "frame.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../dist/frame.css"),
        sha384: "9ekmc5LOVk6fAl3oGWFJ0xLr+eFnDohpjaLWDwp3GGBGMHdDUwmTrxbGMoN6EsGI",
    },
    Asset {
        path: "frame.html",
        content_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../dist/frame.html"),
        sha384: "h2Be1h3wmp5gLh0+IM8l4bplSJu6ayNVTI9lP1qQxFtxU7WgiP69t53UD3Kfv4BZ",
    },
    Asset {
        path: "frame.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/frame.js"),
        sha384: "aq3EdqvAU204MMv3bfASzAD2FHd1ASeis2LslrgV8KKBROE7LX4j3oc5hm8G7kJr",
    },
    Asset {
        path: "locales/ar.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/ar.json"),
        sha384: "ZG+SzVFqP85BpBd9gMQ0ArH5+XqkXBuQj+RS732gjqmS/tLRTtkhrj8qKrfY0rh6",
    },
    Asset {
        path: "locales/de.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/de.json"),
        sha384: "UcrrVq5FcVyFqMI/+fCB4kfUdZDrPgmaqlkeabZD/FU3fLZEHLTi99YLmDrMV0kU",
    },
    Asset {
        path: "locales/en.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/en.json"),
        sha384: "elsU1hq34aWjjXO130MkKggCUvF2Hxbr6Mb9HLDODGsDMllpQA4ry6Ct2knkEupW",
    },
    Asset {
        path: "manifest.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/manifest.json"),
        sha384: "82eTdvn9Fmo59y07O+53x0MKH/veJRt8EXSBzwQ8aqxKcf/lPPWeAVAydPozUMsY",
    },
];
