// Written by `npm run build` in crates/browser; do not edit.

use crate::Asset;

pub(crate) const VERSION: &str = "954fbec9bece2017";

pub(crate) static ASSETS: &[Asset] = &[
    Asset {
        path: "challenge.html",
        content_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../dist/challenge.html"),
        sha384: "+eYzZYI0fTCmgl9FoVnhyxhqY1NYrR3CZ6M0qa8CoWV1Vf1ZeHR0DEDXHAoXs1kB",
    },
    Asset {
        path: "challenge.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/challenge.js"),
        sha384: "TyZtsf3t6wL9o+rqabt8NloPQwWsfH1w0KYw/MYdMpe9W13MOa6yZ7faIZdiVqMH",
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
        sha384: "wp/B0CfKUlXy45qJQPxtemn/2AKhn4cF34QgAYs1xm1Mo+i3zFWADzmtUTIQwWKL",
    },
    Asset {
        path: "frame.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../dist/frame.css"),
        sha384: "NgHeVoYXiFrCg/zsTyzLViTXMMRSsnSTROfCkaOUG6qYs2kUXT2wRxxyTGLOkP2x",
    },
    Asset {
        path: "frame.html",
        content_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../dist/frame.html"),
        sha384: "x+vGvRF6BSQjHqQKBHYi/q31fbIHpn6MjiJOP9YmImmec0nY9bEB4KrmCcrKKPKh",
    },
    Asset {
        path: "frame.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/frame.js"),
        sha384: "3SB/faqlT7Ie9iOlsqLdzvlAwDTHeoSqgnt9ySo/rO48wQosndmQ/bxo+UMHscN9",
    },
    Asset {
        path: "locales/ar.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/ar.json"),
        sha384: "/MFDfkzZgM6Jpn30HzhVIbD/gHUgvy5/okhKxaU24h2mwigAdIwI5fWQtTjORgOU",
    },
    Asset {
        path: "locales/de.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/de.json"),
        sha384: "OYZSn1HOvTV5aMTr19zcSq1enVv2An6qzUvS+tr71tij5f9nmVNTulQM3R5/RU4M",
    },
    Asset {
        path: "locales/en.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/locales/en.json"),
        sha384: "fZImiDP+Bfl2n4WRdlpplA6VNozFwfmkWyMD/jXf5f5IFiTjfMnbFR6Xd7sYEWIt",
    },
    Asset {
        path: "manifest.json",
        content_type: "application/json",
        bytes: include_bytes!("../dist/manifest.json"),
        sha384: "APuFL2wSyrKuVs/OKFqGTQG/32vm8Y93+WMjPzVEm7W1o4sGdig4iC7pD1gTNPe3",
    },
];
