//! The committed bundle is the one that the sources make, and all of it is embedded. Needs no node.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256, Sha384};

const ADVICE: &str = "run `npm ci && npm run build` in crates/browser and commit dist/ and src/bundle.rs";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Paths of all files under `folder`, relative to the crate, with forward slashes.
fn files_under(folder: &str) -> BTreeSet<String> {
    fn walk(root: &Path, path: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(path).expect("the folder is part of the crate") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let below = path.strip_prefix(root).expect("walked from the root");
                found.insert(below.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(&root(), &root().join(folder), &mut found);
    found
}

fn read(path: &str) -> Vec<u8> {
    fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}; {ADVICE}"))
}

fn manifest() -> Value {
    serde_json::from_slice(&read("dist/manifest.json")).expect("the manifest is JSON")
}

fn members(value: &Value) -> BTreeMap<String, Value> {
    value.as_object().expect("an object").iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_bundle_was_built_from_these_sources() {
    let known = members(&manifest()["sources"]);
    let mut sources: BTreeSet<String> = files_under("src").into_iter().filter(|path| !path.ends_with(".rs")).collect();
    sources.extend(files_under("locales"));
    sources.extend(
        ["../domain/card/src/co_badges.txt", "dropin.d.ts", "languages.json", "mangled.json"].map(str::to_owned),
    );
    assert_eq!(sources, known.keys().cloned().collect(), "files were added or removed since the build: {ADVICE}");
    for (path, hash) in known {
        assert_eq!(hex(&Sha256::digest(read(&path))), hash, "{path} changed since the build: {ADVICE}");
    }
}

#[test]
fn every_output_is_the_one_in_the_manifest() {
    let outputs = members(&manifest()["outputs"]);
    let mut expected: BTreeSet<String> = outputs.keys().map(|path| format!("dist/{path}")).collect();
    expected.insert("dist/manifest.json".into());
    for (path, output) in &outputs {
        for ending in ["br", "gz"].into_iter().filter(|ending| output.get(ending).is_some()) {
            let compressed = format!("dist/{path}.{ending}");
            assert_eq!(output[ending]["size"], read(&compressed).len(), "{compressed} is not the build's: {ADVICE}");
            assert_eq!(
                output[ending]["sha384"],
                STANDARD.encode(Sha384::digest(read(&compressed))),
                "{compressed} is not the build's: {ADVICE}"
            );
            expected.insert(compressed);
        }
    }
    assert_eq!(files_under("dist"), expected, "dist/ holds other files than the build wrote: {ADVICE}");
    for (path, output) in outputs {
        let bytes = read(&format!("dist/{path}"));
        assert_eq!(output["size"], bytes.len(), "dist/{path} was edited by hand: {ADVICE}");
        assert_eq!(
            output["sha384"],
            STANDARD.encode(Sha384::digest(&bytes)),
            "dist/{path} was edited by hand: {ADVICE}"
        );
    }
}

#[test]
fn every_file_of_dist_is_embedded_as_it_is() {
    let mut embedded = BTreeSet::new();
    for asset in dropin_browser::assets() {
        embedded.insert(format!("dist/{}", asset.path));
        for (ending, bytes) in [("br", asset.brotli), ("gz", asset.gzip)] {
            let Some(bytes) = bytes else { continue };
            let compressed = format!("dist/{}.{ending}", asset.path);
            assert_eq!(bytes, read(&compressed), "{compressed}: {ADVICE}");
            embedded.insert(compressed);
        }
        assert_eq!(asset.fingerprint, &hex(&Sha256::digest(asset.bytes))[..12], "{}: {ADVICE}", asset.path);
    }
    assert_eq!(embedded, files_under("dist"), "{ADVICE}");
    for asset in dropin_browser::assets() {
        assert_eq!(asset.bytes, read(&format!("dist/{}", asset.path)), "{}: {ADVICE}", asset.path);
        assert_eq!(asset.sha384, STANDARD.encode(Sha384::digest(asset.bytes)), "{}: {ADVICE}", asset.path);
        assert_eq!(dropin_browser::asset(asset.path), Some(asset));
    }
    assert_eq!(manifest()["version"], dropin_browser::VERSION, "{ADVICE}");
}

#[test]
fn the_pages_name_their_own_files_with_their_hashes() {
    for (page, name) in [("frame", "frame.js"), ("challenge", "challenge.js")] {
        let text = String::from_utf8(read(&format!("dist/{page}.html"))).expect("the page is UTF-8");
        let asset = dropin_browser::asset(name).expect("part of every bundle");
        assert!(text.contains(&format!("{name}?{}", asset.fingerprint)), "{page}.html: {ADVICE}");
        assert!(text.contains(&asset.integrity()), "{page}.html does not carry the integrity of {name}: {ADVICE}");
    }
}

#[test]
fn only_paths_of_the_bundle_are_found() {
    for path in ["", "/", "/dropin.js", "dropin", "locales", "locales/", "../Cargo.toml", "dist/dropin.js", "DROPIN.JS"]
    {
        assert_eq!(dropin_browser::asset(path), None, "{path}");
    }
}

#[test]
fn the_languages_are_those_of_the_list_and_each_has_its_texts() {
    let listed: Value = serde_json::from_slice(&read("languages.json")).expect("JSON");
    let tags: Vec<&str> = listed["tags"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(dropin_browser::languages().iter().map(|language| language.tag).collect::<Vec<_>>(), tags, "{ADVICE}");
    for language in dropin_browser::languages() {
        let source = String::from_utf8(read(&format!("locales/{}.json", language.tag))).expect("UTF-8");
        assert_eq!(language.texts, source, "{ADVICE}");
        for part in ["locales", "outcomes"] {
            let path = format!("{part}/{}.json", language.tag);
            assert!(dropin_browser::asset(&path).is_some(), "{path}: {ADVICE}");
        }
    }
}

#[test]
fn a_request_gets_the_language_that_the_drop_in_gives_it() {
    let choices: Value = serde_json::from_slice(&read("test/locale-choices.json")).expect("JSON");
    for choice in choices.as_array().expect("a list") {
        let request = choice[0].as_str().expect("a request");
        let chosen = dropin_browser::language(request);
        assert_eq!(chosen.map(|language| language.tag), choice[1].as_str(), "{request:?}");
        let direction = if chosen.is_some_and(|language| language.is_right_to_left) { "rtl" } else { "ltr" };
        assert!(chosen.is_none() || choice[3] == direction, "{request:?}");
        // What nobody has texts for leaves the choice to the next request.
        let shown = dropin_browser::locale([request, "fi_FI"]).expect("Finnish at least");
        let (tag, format) = (choice[1].as_str().unwrap_or("fi"), choice[2].as_str().unwrap_or("fi-FI"));
        assert_eq!(
            (shown.format.as_str(), shown.form_texts.path),
            (format, &*format!("locales/{tag}.json")),
            "{request:?}"
        );
        assert_eq!(shown.outcome_texts.path, format!("outcomes/{tag}.json"), "{request:?}");
        assert_eq!(shown.is_right_to_left, direction == "rtl", "{request:?}");
    }
    for (requests, format) in [(&["en_XA"][..], "en-XA"), (&["xx", "<b>", ""], "en"), (&[], "en")] {
        let shown = dropin_browser::locale(requests.iter().copied()).expect("English at least");
        assert_eq!(shown.format, format, "{requests:?}");
    }
}

/// The names in braces of a text, for example `amount` in `Pay {amount}`.
fn placeholders(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

#[test]
fn all_locales_have_the_keys_and_placeholders_of_english() {
    let locale =
        |path: &str| members(&serde_json::from_slice(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}")));
    let english = locale("locales/en.json");
    for path in files_under("locales") {
        let texts = locale(&path);
        assert!(texts.keys().eq(english.keys()), "{path} must have exactly the keys of locales/en.json");
        for (key, text) in &texts {
            let text = text.as_str().unwrap_or_else(|| panic!("{path}: {key} is not a text"));
            assert!(!text.trim().is_empty(), "{path}: {key} is empty");
            let wanted = english[key].as_str().expect("checked with English itself");
            assert_eq!(placeholders(text), placeholders(wanted), "{path}: {key} has other placeholders than English");
        }
    }
}
