//! Files of rules: what they say, what is wrong with them, and how they are laid over each other.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_risk::{
    BUILT_IN_RULES, Decision, FactText, Facts, InvalidRulesFingerprint, Rules, RulesFile, RulesFingerprint,
    VelocityKey, VelocitySum, VelocityWindow,
};

/// The built-in rules with `file` laid over them.
fn rules(file: &str) -> Rules {
    Rules::built_in().with(&RulesFile::parse(file).unwrap()).unwrap()
}

/// What is told of `file`, read alone and then laid over the built-in rules.
fn told(file: &str) -> Vec<String> {
    let mistakes = match RulesFile::parse(file) {
        Err(mistakes) => mistakes,
        Ok(file) => Rules::built_in().with(&file).unwrap_err(),
    };
    mistakes.iter().map(ToString::to_string).collect()
}

/// That `file` has this mistake alone.
#[track_caller]
fn refused(file: &str, line: u32, column: u32, message: &str) {
    let told = told(file);
    assert_eq!(told.len(), 1, "{file}: {told:?}");
    let start = format!("line {line}, column {column}: {message}");
    assert!(told[0].starts_with(&start), "{file}: {}, not {start}", told[0]);
}

#[test]
fn the_built_in_rules_are_what_their_text_says() {
    let built_in = Rules::built_in();
    let text = built_in.to_string();
    let again = built_in.with(&RulesFile::parse(&text).unwrap()).unwrap();
    assert_eq!((again.to_string(), again.fingerprint()), (text, built_in.fingerprint()));
    assert_eq!(built_in.with(&RulesFile::parse("").unwrap()).unwrap(), built_in);
    assert!(BUILT_IN_RULES.is_ascii());
}

#[test]
fn the_text_of_rules_makes_them_again() {
    let file = concat!(
        "[thresholds]\nBLOCK = 101\n[limits]\nSMALL_AMOUNT = \"0.05 EUR\"\nRETURNING_DAYS = 7\n",
        "[weights]\nNEW_SHOPPER = 0\nAUTHENTICATED = -100\n[velocity]\nCARD_TRIES_HOUR = [0, 1]\nIP_DECLINES_HOUR = [9, 0]\n",
        "[rules]\nA = 'not NEW_SHOPPER and CARD_COUNTRY = US and IP_COUNTRY not_in AT,DE and SCHEME != AMEX then BLOCK'\n",
        "B = \"FUNDING = PREPAID and AMOUNT < 5 EUR and DEVICE_TRIES_DAY > 3 and IP_COUNTRY in US then CHALLENGE\"\n",
        "[exemptions]\nONE_LEG_OUT = 'ON'\nLOW_VALUE = '30.00 EUR'\n",
        "[outside]\nWEIGHT = 40\nDEFAULT = 7\n",
        "[disposable]\nEMAIL_DOMAINS = ['Spam.Example']\n",
        "[allow]\nPROFILES = ['it''s', \"o'hara\", 'back\\slash', 'quote\"']\nNETWORKS = [\"203.0.113.0/24\", \"2001:db8::/32\"]\n",
        "[block]\nEMAILS = ['A@b.example']\nCARD_COUNTRIES = ['KP']\n"
    );
    let file = file.replace("'it''s', ", "");
    let one = rules(&file);
    let text = one.to_string();
    for line in [
        "BLOCK = 101",
        "SMALL_AMOUNT = \"0.05 EUR\"",
        "LARGE_AMOUNT = \"500.00 EUR\"",
        "RETURNING_DAYS = 7",
        "AUTHENTICATED = -100",
        "CARD_TRIES_HOUR = [0, 1]",
        "A = \"not NEW_SHOPPER and CARD_COUNTRY in US and IP_COUNTRY not_in AT,DE and SCHEME != AMEX then BLOCK\"",
        "B = \"FUNDING = PREPAID and AMOUNT < 5.00 EUR and DEVICE_TRIES_DAY > 3 and IP_COUNTRY in US then CHALLENGE\"",
        "ONE_LEG_OUT = \"ON\"",
        "WEIGHT = 40",
        "DEFAULT = 7",
        "LOW_VALUE = \"30.00 EUR\"",
        "TRANSACTION_RISK_ANALYSIS = \"OFF\"",
        "PROFILES = ['back\\slash', \"o'hara\", 'quote\"']",
        "NETWORKS = [\"2001:db8::/32\", \"203.0.113.0/24\"]",
        "EMAILS = [\"a@b.example\"]",
        "CARD_COUNTRIES = [\"KP\"]",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
    }
    assert!(text.contains("\"spam.example\"") && !text.contains("NEW_SHOPPER =") && !text.contains("IP_DECLINES_HOUR"));
    // What was switched off is off where the text is laid over rules that have nothing of it.
    let again = rules("[weights]\nNEW_SHOPPER = 0\n[velocity]\nIP_DECLINES_HOUR = [0, 0]")
        .with(&RulesFile::parse(&text).unwrap());
    assert_eq!(again.unwrap(), one);
}

#[test]
fn a_later_file_wins_and_lists_get_longer() {
    let deployment = "[weights]\nNEW_SHOPPER = 8\nCARD_IS_PREPAID = 9\n[block]\nDEVICES = ['a']\n[rules]\nX = 'AMOUNT > 1.00 EUR then REVIEW'";
    let merchant = "[weights]\nNEW_SHOPPER = 3\n[block]\nDEVICES = ['b']\n[rules]\nX = 'OFF'\nLARGE_ABROAD = \"OFF\"";
    let both = rules(deployment).with(&RulesFile::parse(merchant).unwrap()).unwrap().to_string();
    assert!(both.contains("NEW_SHOPPER = 3\n") && both.contains("CARD_IS_PREPAID = 9\n"), "{both}");
    assert!(both.contains("DEVICES = [\"a\", \"b\"]") && both.contains("[rules]\n\n"), "{both}");
}

#[test]
fn lines_may_end_as_on_windows() {
    assert_eq!(rules("[weights]\r\nNEW_SHOPPER = 6 # new\r\n"), rules("[weights]\nNEW_SHOPPER = 6"));
}

#[test]
fn fingerprints_tell_rules_apart() {
    let mut all = vec![Rules::built_in().fingerprint()];
    for file in [
        "[weights]\nNEW_SHOPPER = 6",
        "[thresholds]\nBLOCK = 86",
        "[velocity]\nCARD_TRIES_HOUR = [6, 45]",
        "[velocity]\nCARD_TRIES_HOUR = [5, 46]",
        "[limits]\nALARM_PERCENT = 21",
        "[limits]\nALARM_DEVIATIONS = 7",
        "[limits]\nALARM_DECLINES = 13",
        "[block]\nDEVICES = ['a']",
        "[allow]\nDEVICES = ['a']",
        "[rules]\nLARGE_ABROAD = 'OFF'",
        "[disposable]\nEMAIL_DOMAINS = ['a.example']",
    ] {
        all.push(rules(file).fingerprint());
    }
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len());
    assert_eq!(rules("# nothing but a remark").fingerprint(), all[0]);
}

#[test]
fn a_fingerprint_is_read_as_it_is_written_and_nothing_else_is_one() {
    let (built_in, other) = (Rules::built_in().fingerprint(), rules("[weights]\nNEW_SHOPPER = 6").fingerprint());
    for one in [built_in, other] {
        assert_eq!(one.to_string().parse(), Ok(one));
    }
    assert_eq!("00000000000000ff".parse::<RulesFingerprint>().unwrap().to_string(), "00000000000000ff");
    for text in
        ["", "ff", "000000000000000", "00000000000000000", "00000000000000FF", "+0000000000000ff", "00000000000000fg"]
    {
        assert_eq!(text.parse::<RulesFingerprint>(), Err(InvalidRulesFingerprint), "{text}");
    }
}

#[test]
fn every_mistake_has_its_line_and_column() {
    refused("NEW_SHOPPER = 5", 1, 1, "stands before the first section");
    refused("[colours]\nRED = 1", 1, 1, "is no section; there are thresholds, limits,");
    refused("[weights\n", 1, 9, "here `]` belongs");
    refused("[]\n", 1, 2, "here a name belongs");
    refused("[weights]\n[weights]", 2, 1, "this section stands here a second time");
    refused("[weights]\nNEW_SHOPPER = 5\nNEW_SHOPPER = 6", 3, 1, "this name stands here a second time");
    refused("[weights]\n  AGE = 5", 2, 3, "is no factor; there are NEW_SHOPPER,");
    refused("[weights]\nNEW_SHOPPER 5", 2, 13, "here `=` belongs");
    refused("[weights]\nNEW_SHOPPER = ", 2, 15, "here a whole number, a \"text\" or a [list] belongs");
    refused("[weights]\nNEW_SHOPPER = 5 6", 2, 17, "here the line has to end");
    for number in [
        "5.0",
        "05",
        "-05",
        "00",
        "1_0",
        "0x5",
        "5e1",
        "-",
        "+",
        "+-5",
        "--5",
        "101",
        "-101",
        "99999999999999999999",
        "\"5\"",
        "[5]",
    ] {
        refused(&format!("[weights]\nNEW_SHOPPER = {number}"), 2, 15, "must be a whole number");
    }
    refused("[weights]\nNEW_SHOPPER = true", 2, 15, "here a whole number");
    refused("[thresholds]\nALLOW = 5", 2, 1, "needs no threshold");
    refused("[thresholds]\nBLOCK = 0", 2, 9, "must be a whole number, 1 to 101");
    refused("[thresholds]\nBLOCK = 102", 2, 9, "must be a whole number, 1 to 101");
    refused(
        "[velocity]\nDEVICE_CARDS_WEEK = [1, 2]",
        2,
        1,
        "is no window of velocity; there are TEN_MINUTES, HOUR, DAY",
    );
    refused("[velocity]\nDEVICE_CARDS_HOUR = 4", 2, 21, "must be [the most that is ordinary, points of more]");
    refused("[velocity]\nDEVICE_CARDS_HOUR = [4]", 2, 21, "must be [the most");
    refused("[velocity]\nDEVICE_CARDS_HOUR = [4, 5, 6]", 2, 21, "must be [the most");
    refused("[velocity]\nDEVICE_CARDS_HOUR = [-1, 5]", 2, 22, "must be a whole number, 0 or more");
    refused("[velocity]\nDEVICE_CARDS_HOUR = [4, -5]", 2, 25, "must be a whole number, 0 to 100");
    refused("[velocity]\nDEVICE_CARDS_HOUR = [4 5]", 2, 24, "here `,` or `]` belongs");
    refused("[velocity]\nDEVICE_CARDS_HOUR = [4, [5]]", 2, 25, "here a whole number or a \"text\" belongs");
    refused("[limits]\nLARGE_AMOUNT = 500", 2, 16, "must be a text in quotation marks");
    refused("[limits]\nLARGE_AMOUNT = \"500.00 USD\"", 2, 16, "must be an amount such as 250.00 EUR");
    refused("[limits]\nLARGE_AMOUNT = \"-1.00 EUR\"", 2, 16, "must be an amount such as 250.00 EUR");
    refused("[limits]\nALARM_PERCENT = 0", 2, 17, "must be a whole number, 1 to 100");
    refused("[limits]\nALARM_DECLINES = 0", 2, 18, "must be a whole number, 1 to");
    refused("[limits]\nRETURNING_DAYS = -1", 2, 18, "must be a whole number, 0 to 36500");
    refused("[limits]\nDEPTH = 1", 2, 1, "is no limit; there are LARGE_AMOUNT,");
    refused(
        "[exemptions]\nMERCHANT_INITIATED = 'ON'",
        2,
        1,
        "needs no rule: each payment that a merchant begins is one",
    );
    refused("[exemptions]\nCORPORATE = 'ON'", 2, 1, "is no exemption from strong authentication; there are");
    refused("[exemptions]\nLOW_VALUE = 30", 2, 13, "must be a text in quotation marks");
    for value in ["ON", "30.01 EUR", "0.00 EUR", "1.00 USD", "off"] {
        let file = format!("[exemptions]\nLOW_VALUE = '{value}'");
        refused(&file, 2, 13, "must be an amount up to \"30.00 EUR\", or \"OFF\"");
    }
    refused("[exemptions]\nTRANSACTION_RISK_ANALYSIS = '500.01 EUR'", 2, 29, "must be an amount up to \"500.00 EUR\"");
    refused("[exemptions]\nONE_LEG_OUT = '30.00 EUR'", 2, 15, "must be \"ON\", or \"OFF\"");
    refused("[outside]\nWEIGHT = 101", 2, 10, "must be a whole number, 0 to 100");
    refused("[outside]\nDEFAULT = -1", 2, 11, "must be a whole number, 0 to 100");
    refused("[outside]\nSCORE = 1", 2, 1, "is no number of the outside score; there are WEIGHT, DEFAULT");
    refused("[disposable]\nDOMAINS = ['a.example']", 2, 1, "this section has EMAIL_DOMAINS alone");
    refused("[disposable]\nEMAIL_DOMAINS = ['a@b.example']", 2, 18, "must be a domain such as example.com");
    refused("[disposable]\nEMAIL_DOMAINS = ['example']", 2, 18, "must be a domain such as example.com");
    refused("[block]\nEMAILS = 'a@b.example'", 2, 10, "must be a list of texts");
    refused("[block]\nEMAILS = [\n  'a@b.example',\n  7,\n]", 4, 3, "must be a text in quotation marks");
    refused("[block]\nEMAILS = [' ']", 2, 11, "must not be empty");
    refused("[block]\nNAMES = ['a']", 2, 1, "is no kind of list; there are EMAILS,");
    refused("[block]\nNETWORKS = ['10.0.0.0/33']", 2, 13, "must be an address such as 203.0.113.7");
    refused("[block]\nCARD_COUNTRIES = ['AT', 'UK']", 2, 25, "");
    refused("[allow]\nCARD_COUNTRIES = ['AT']", 2, 1, "a country is no reason to trust");
    refused("[block]\nEMAILS = ['a", 2, 13, "the text has no end");
    refused("[block]\nEMAILS = [\"a\\n\"]", 2, 13, "a text in \" has no escapes");
    refused("[block]\nEMAILS = ['a\u{7}']", 2, 13, "control characters do not belong");
    refused("[block]\rEMAILS = ['a']", 1, 8, "control characters do not belong");
    refused("[block]\nEMAILS = ['a'\n", 3, 1, "here `,` or `]` belongs");
}

#[test]
fn a_file_has_bounds() {
    let remark = format!("#{}\n", "x".repeat(1_022));
    assert!(RulesFile::parse(&remark.repeat(256)).is_ok());
    refused(&(remark.repeat(256) + "#"), 1, 1, "the file is longer than 256 KiB");
    let wrong: String = (0..200).map(|number| format!("A{number} = 1\n")).collect();
    assert_eq!(told(&format!("[weights]\n{wrong}")).len(), 100);
    let long = |characters: usize| {
        let rule = "AMOUNT > 1.00 EUR and ".repeat(60);
        let end = "AMOUNT > 1.00 EUR then BLOCK";
        format!("[rules]\nA = \"{}{end}\"", &rule[rule.len() - (characters - end.len()) / 22 * 22..])
    };
    assert!(RulesFile::parse(&long(1_000)).is_ok());
    refused(&format!("[rules]\nA = \"{}\"", " ".repeat(1_001)), 2, 5, "must have 1000 characters at most");
    refused(&format!("[rules]\nA = \"{}\"", " ".repeat(1_000)), 2, 1_006, "here a condition belongs");
}

#[test]
fn all_mistakes_are_told_at_once_and_once() {
    let file = "\
[weights]
AGE = 5
NEW_SHOPPER = 900 # too much
CARD_IS_PREPAID = 'five'

[block]
EMAILS = [
    'a@example.com',
    7
    'c@example.com',
    'd@example.com',
]
DEVICES = ['x'
[colours]
RED = 1
[rules]
A = 'AMOUNT > 5 EUR then ALLOW'
B = 'AMOUNT > 5 EUR'
";
    let lines: Vec<u32> = RulesFile::parse(file).unwrap_err().iter().map(|mistake| mistake.at.line).collect();
    // That the list of line 13 has no end is found where the next section begins, which is none.
    assert_eq!(lines, [2, 3, 4, 10, 14, 14, 17, 18]);
    let at =
        |line: u32| RulesFile::parse(file).unwrap_err().iter().find(|one| one.at.line == line).unwrap().message.clone();
    assert_eq!(at(14), "here `,` or `]` belongs");
    assert_eq!(at(17), "a rule decides CHALLENGE, REVIEW or BLOCK");
}

#[test]
fn mistakes_in_rules_have_the_column_of_the_word() {
    for (rule, column, message) in [
        ("", 6, "here a condition belongs"),
        ("AGE > 5 then BLOCK", 6, "is nothing that a rule knows; there are CARD_COUNTRY,"),
        ("AMOUNT > 5 EUR", 20, "here `and` or `then` belongs"),
        ("AMOUNT > 5 EUR or NEW_SHOPPER then BLOCK", 21, "here `and` or `then` belongs"),
        ("AMOUNT >= 5 EUR then BLOCK", 13, "here > or < belongs"),
        ("AMOUNT > 5 USD then BLOCK", 15, "must be an amount such as 250.00 EUR"),
        ("AMOUNT > x EUR then BLOCK", 15, "must be an amount such as 250.00 EUR"),
        ("AMOUNT > 5", 16, "here EUR belongs"),
        ("NEW_SHOPPER then", 22, "here CHALLENGE, REVIEW or BLOCK belongs"),
        ("NEW_SHOPPER then ALLOW", 23, "a rule decides CHALLENGE, REVIEW or BLOCK"),
        ("NEW_SHOPPER then BLOCK it", 29, "a rule ends with its decision"),
        ("not OLD then BLOCK", 10, "is no factor; there are"),
        ("not", 9, "here a factor belongs"),
        ("SCHEME > VISA then BLOCK", 13, "here = or != belongs"),
        ("SCHEME = VISTA then BLOCK", 15, "is no card scheme"),
        ("FUNDING = CASH then BLOCK", 16, "is no kind of funding"),
        ("CARD_COUNTRY > AT then BLOCK", 19, "here =, !=, in or not_in belongs"),
        ("CARD_COUNTRY = UK then BLOCK", 21, "must be a country such as AT"),
        ("CARD_COUNTRY in AT, DE then BLOCK", 22, "must be a country such as AT"),
        ("CARD_COUNTRY in BILLING_COUNTRY then BLOCK", 22, "must be a country such as AT"),
        ("DEVICE_CARDS_HOUR > many then BLOCK", 26, "must be a whole number"),
        ("DEVICE_CARDS_HOUR = 5 then BLOCK", 24, "here > or < belongs"),
        ("IP_TRIES_HOUR > 50 then BLOCK", 6, "an IP address is shared by strangers"),
        ("IP_TRIES_HOUR > 50 and NETWORK_DECLINES_DAY > 3 then REVIEW", 6, "an IP address is shared by strangers"),
    ] {
        refused(&format!("[rules]\nA = '{rule}'"), 2, column, message);
    }
    rules("[rules]\nA = 'IP_TRIES_HOUR > 50 and NEW_SHOPPER then BLOCK'\nB = '  IP_COUNTRY = KP  then BLOCK '");
    refused("[rules]\nabroad = 'NEW_SHOPPER then BLOCK'", 2, 1, "must be 1 to 40 capitals, digits and underscores");
    refused("[rules]\nA = 5", 2, 5, "must be a text in quotation marks");
}

#[test]
fn what_does_not_fit_together_is_told_where_the_file_says_it() {
    refused(
        "[thresholds]\nCHALLENGE = 71\n[weights]\nNEW_SHOPPER = 5",
        2,
        1,
        "CHALLENGE, REVIEW and BLOCK must not fall: they are 71, 70",
    );
    refused(
        "[thresholds]\nBLOCK = 69\nREVIEW = 70",
        3,
        1,
        "CHALLENGE, REVIEW and BLOCK must not fall: they are 40, 70 and 69",
    );
    rules("[thresholds]\nCHALLENGE = 85\nREVIEW = 85");
    refused(
        "[limits]\nRETURNING_DAYS = 1\nSMALL_AMOUNT = \"500.01 EUR\"",
        3,
        1,
        "LARGE_AMOUNT must not be below SMALL_AMOUNT",
    );
    rules("[limits]\nSMALL_AMOUNT = \"500.00 EUR\"");
}

#[test]
fn an_address_never_decides_alone() {
    let why = "the limits by IP and NETWORK and NEW_SHOPPER have 40 points together";
    refused("[velocity]\nIP_DECLINES_HOUR = [8, 19]\nCARD_TRIES_HOUR = [5, 1]", 2, 1, why);
    refused("[velocity]\nNETWORK_TRIES_DAY = [8, 11]", 2, 1, why);
    refused("[weights]\nNEW_SHOPPER = 16", 2, 1, why);
    refused(
        "[thresholds]\nCHALLENGE = 29\n[weights]\nCARD_IS_PREPAID = 6",
        2,
        1,
        "the limits by IP and NETWORK and NEW_SHOPPER have 29",
    );
    rules("[velocity]\nIP_DECLINES_HOUR = [8, 18]");
    // A merchant that trusts strangers gains nothing by it for the busy address.
    refused(
        "[weights]\nNEW_SHOPPER = -50\n[velocity]\nIP_DECLINES_HOUR = [8, 24]",
        4,
        1,
        "the limits by IP and NETWORK",
    );

    let mut facts = Facts { ip: "203.0.113.7".parse().ok(), ip_country: "AT".parse().ok(), ..Facts::default() };
    let counts = dropin_risk::VelocityCounts {
        tries: 9_999,
        declines: 9_999,
        blocks: 9_999,
        amount_cents: 9_999_999,
        ..dropin_risk::VelocityCounts::default()
    };
    for window in VelocityWindow::ALL {
        for key in VelocityKey::ALL.into_iter().filter(|key| key.is_of_address()) {
            facts.velocity.set(key, window, VelocitySum { counts, cards: 9_999 });
        }
    }
    let screening = Rules::built_in().screen(facts);
    assert_eq!((screening.decision(), screening.score().value()), (Decision::Allow, 29));
}

#[test]
fn texts_of_shoppers_are_bounded() {
    let hostile = "\u{130}".repeat(1_000_000);
    let kept = FactText::new(&hostile);
    assert!((250..=254).contains(&kept.as_str().len()), "{}", kept.as_str().len());
    assert_eq!(FactText::new(&format!("  {}", "a".repeat(254))).as_str().len(), 254);
    assert_eq!(FactText::new(&format!("{} b", "a".repeat(253))).as_str(), "a".repeat(253));
    assert_eq!(FactText::new("\u{a0}Ä \t").as_str(), "ä");
}
