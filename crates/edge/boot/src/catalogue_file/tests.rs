use super::*;

pub(crate) const OWN: &str = "[TIKKIE]\nname = \"Tikkie\"\nclass = \"Online\"\nnames = { nl = \"Tikkie betalen\" }\n\
    countries = [\"NL\"]\ncurrencies = [\"EUR\"]\namounts = { EUR = \"0.50..5000\" }\nchannels = [\"drop-in\"]\n\
    recurring = true\ncapture_later = true\npartial_capture = true\nsandbox = true\nrefunds = false\npatience = \"90m\"\n\
    capture_window = \"48h\"\ncapture_window_from = \"CREATION\"\n[PAYPAL]\noffered = false\n";

/// A file with this text that is removed with the test.
pub(crate) fn file(name: &str, text: &str) -> (PathBuf, impl Drop) {
    struct Removed(PathBuf);
    impl Drop for Removed {
        fn drop(&mut self) {
            let _removed = fs::remove_file(&self.0);
        }
    }
    let path = std::env::temp_dir().join(format!("dropin-catalogue-{}-{name}.toml", std::process::id()));
    fs::write(&path, text).unwrap();
    (path.clone(), Removed(path))
}

#[test]
fn every_program_knows_the_methods_that_the_file_adds() {
    let (path, _file) = file("known", OWN);
    let known = CatalogueFileArgs { catalogue: Some(path) }.known().unwrap();
    assert!(known.payment_rules("TIKKIE").partial_capture() && !known.payment_rules("IDEAL").partial_capture());
    assert!(!known.has("TIKKIE") && !known.has("VISA"), "it offers none");
    let without = CatalogueFileArgs::default().known().unwrap();
    assert!(without.method("TIKKIE").is_none() && without.method("VISA").is_some());
    let missing = CatalogueFileArgs { catalogue: Some(PathBuf::from("/nowhere/at/all")) }.known().unwrap_err();
    let missing = missing.to_string();
    assert!(missing.contains("cannot read /nowhere/at/all") && missing.contains("DROPIN_CATALOGUE"), "{missing}");
}

#[test]
fn a_merchants_file_narrows_what_the_deployment_adds_and_adds_nothing() {
    let (path, _file) = file("deployment", OWN);
    let known = CatalogueFileArgs { catalogue: Some(path) }.known().unwrap();
    let (narrow, _narrow) = file("narrow", "[TIKKIE]\namounts = { EUR = \"1..10\" }\n[VISA]\noffered = false\n");
    let adjustments = read_adjustments(&narrow, &known).unwrap();
    assert!(adjustments.of("TIKKIE").is_some_and(|one| one.amounts.is_some()) && adjustments.of("VISA").is_some());
    let refused = read_adjustments(&narrow, &Catalogue::of_sandbox()).unwrap_err().to_string();
    assert!(refused.contains("[TIKKIE]") && refused.contains("only the deployment's file"), "{refused}");
    let (adding, _adding) = file("adding", OWN);
    let refused = read_adjustments(&adding, &known).unwrap_err().to_string();
    assert!(refused.contains("[TIKKIE] is a payment method already"), "{refused}");
}

#[test]
fn every_setting_of_a_method_is_read() {
    let text = "[IDEAL]\noffered = true\ncountries = [\"NL\", \"BE\"]\ncurrencies = [\"EUR\"]\nchannels = [\"drop-in\"]\n\
        recurring = true\ncapture_later = true\nsandbox = false\namounts = { EUR = \"0.50..5000\", JPY = \"100..\", KWD = \"..1.5\" }\n[PAYPAL]\noffered = false\n";
    let all = parse(text).unwrap().adjustments;
    let ideal = all.of("IDEAL").unwrap();
    assert_eq!(ideal.countries.as_deref(), Some(&["NL".to_owned(), "BE".to_owned()][..]));
    let limits = [
        Range::new(Currency::Eur, 50, Some(500_000)).unwrap(),
        Range::new(Currency::Jpy, 100, None).unwrap(),
        Range::new(Currency::Kwd, 0, Some(1_500)).unwrap(),
    ];
    assert_eq!(ideal.amounts.as_deref(), Some(&limits[..]));
    assert_eq!((ideal.offered, ideal.recurring, ideal.sandbox), (Some(true), Some(true), Some(false)));
    assert_eq!(ideal.capture_later, Some(true));
    assert_eq!(ideal.channels.as_deref(), Some(&[SalesChannel::DropIn][..]));
    assert_eq!(all.of("PAYPAL").unwrap().offered, Some(false));
    for nothing in ["", "[VISA]\n", "[VISA]\namounts = {}\n"] {
        let CatalogueFile { adjustments, own } = parse(nothing).unwrap();
        assert!(adjustments.is_empty() && own.is_empty(), "{nothing}");
    }
}

#[test]
fn every_setting_of_an_own_method_is_read() {
    let CatalogueFile { own, adjustments } = parse(OWN).unwrap();
    let [tikkie] = own.as_slice() else { panic!("{own:?}") };
    assert_eq!((tikkie.id(), tikkie.name(), tikkie.name_in("nl").0), ("TIKKIE", "Tikkie", "Tikkie betalen"));
    assert_eq!((tikkie.class(), tikkie.is_local()), (Class::Online, true));
    assert_eq!(tikkie.reach(), ["NL", "EUR", "0.50 to 5000.00 EUR"]);
    assert!(tikkie.recurring() && tikkie.capture_later() && tikkie.partial_capture() && tikkie.is_in_sandbox());
    assert!(!tikkie.refunds());
    assert_eq!([tikkie.patience(), tikkie.capture_window()].map(|span| span.as_secs()), [5_400, 172_800]);
    assert_eq!(tikkie.window_from(), WindowFrom::Creation);
    let merchant = dropin_catalogue::MerchantMethods::default();
    let ask = dropin_catalogue::Ask { country: Some("NL"), ..dropin_catalogue::Ask::new(&merchant, &[Currency::Eur]) };
    let catalogue = Catalogue::new(|_built_in| false, &adjustments).with(own).unwrap();
    assert!(catalogue.offer("TIKKIE", &ask).is_ok());
    let channel = SalesChannel::Checkout;
    assert!(catalogue.offer("TIKKIE", &dropin_catalogue::Ask { channel, ..ask }).is_err(), "in the drop-in alone");
    let CatalogueFile { own, .. } = parse("[KIOSK]\nname = \"Kiosk\"\nclass = \"Offline\"\n").unwrap();
    assert_eq!(own[0].reach(), ["all", "all", ""]);
    assert!(!own[0].partial_capture() && !own[0].capture_later() && !own[0].recurring(), "as its class has it");
    let as_class = Method::builder("KIOSK", "Kiosk", Class::Offline).build().unwrap();
    assert_eq!(own[0], as_class, "what is left out is as its class has it");
    let week = "[KIOSK]\nname = \"Kiosk\"\nclass = \"Offline\"\ncapture_window = \"30d\"\n";
    let CatalogueFile { own, .. } = parse(week).unwrap();
    assert_eq!((own[0].capture_window().as_secs(), own[0].window_from()), (2_592_000, WindowFrom::Authorization));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    for (text, word) in [
        ("[CASH]\noffered = false", "[CASH] is no payment method"),
        ("[CASH]\nname = \"Cash\"", "name and class"),
        ("[CARD]\nname = \"Card\"\nclass = \"Online\"", "[CARD] is what a processor is told"),
        ("[cash]\nname = \"Cash\"\nclass = \"Offline\"", "[cash] id: has to be"),
        ("[CASH]\nname = \"\"\nclass = \"Offline\"", "[CASH] name: has to be"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Voucher\"", "class: write Online or Offline"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Card\"", "a card's number"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\noffered = true", "PROCESSOR_METHODS"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\nchannels = []", "[CASH] channels: is empty"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncountries = [\"XX\"]", "XX"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\nnames = { German = \"Bar\" }", "German"),
        (
            "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncurrencies = [\"USD\"]\namounts = { EUR = \"1..\" }",
            "EUR is not among its currencies",
        ),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncountries = []", "[CASH] countries: is empty"),
        ("[VISA]\nname = \"Our Visa\"", "[VISA] is a payment method already"),
        ("[VISA]\nclass = \"Online\"", "choose another id"),
        ("[VISA]\npartial_capture = false", "[VISA] partial_capture: leave it out"),
        ("[VISA]\nrefunds = false", "[VISA] refunds: leave it out"),
        ("[VISA]\npatience = \"1h\"", "[VISA] patience: leave it out"),
        ("[VISA]\ncapture_window = \"7d\"", "[VISA] capture_window: leave it out"),
        ("[VISA]\ncapture_window_from = \"CREATION\"", "[VISA] capture_window_from: leave it out"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npatience = \"soon\"", "[CASH] patience: soon has to be"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npatience = \"0s\"", "from 1s to 366d"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npatience = \"367d\"", "from 1s to 366d"),
        (
            "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npatience = \"1500ms\"",
            "[CASH] patience: has to be whole seconds",
        ),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncapture_window = \"7\"", "[CASH] capture_window: 7 has to be"),
        (
            "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncapture_window = \"7d\"\ncapture_window_from = \"capture\"",
            "neither AUTHORIZATION nor CREATION",
        ),
        (
            "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncapture_window_from = \"CREATION\"",
            "with capture_window how long",
        ),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\nrefunds = 1", "line 4"),
        ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npartial_capture = 1", "line 4"),
        ("[VISA]\nofered = false", "line 2"),
        ("[VISA]\noffered = 1", "line 2"),
        ("offered = false", "line 1"),
        ("[VISA", "line 1"),
        ("[VISA]\ncountries = []", "offered = false"),
        ("[VISA]\ncountries = [\"nl\"]", "nl"),
        ("[VISA]\ncurrencies = [\"XTS\"]", "XTS"),
        ("[VISA]\nchannels = [\"shop\"]", "drop-in"),
        ("[VISA]\namounts = { XTS = \"1..2\" }", "XTS"),
        ("[VISA]\namounts = { EUR = \"1\" }", "least..most"),
        ("[VISA]\namounts = { EUR = \"a..b\" }", "least..most"),
        ("[VISA]\namounts = { EUR = \"2..1\" }", "ends before"),
        ("[VISA]\namounts = { JPY = \"1.5..\" }", "JPY"),
        ("[VISA]\namounts = { EUR = \"-1..\" }", "negative"),
    ] {
        let refused = parse(text).unwrap_err();
        assert!(refused.contains(word), "{text}: {refused}");
    }
    let missing = read_adjustments(Path::new("/nowhere/at/all"), &Catalogue::of_sandbox()).unwrap_err();
    assert!(matches!(missing, ConfigError::Read { .. }), "{missing}");
}

#[test]
fn adjustments_are_written_as_they_are_read() {
    let known = Catalogue::of_sandbox();
    let text = "[IDEAL]\noffered = true\nrecurring = true\ncapture_later = true\nsandbox = false\ncountries = [\"NL\", \"BE\"]\n\
        currencies = [\"EUR\"]\nchannels = [\"drop-in\"]\namounts = { EUR = \"0.50..5000.00\", JPY = \"100..\", KWD = \"..1.500\" }\n\n\
        [PAYPAL]\noffered = false";
    let all = parse_adjustments(text, &known).unwrap();
    assert_eq!(write_adjustments(&all), text);
    assert_eq!(parse_adjustments(&write_adjustments(&all), &known), Ok(all));
    assert_eq!(write_adjustments(&Adjustments::default()), "");
}
