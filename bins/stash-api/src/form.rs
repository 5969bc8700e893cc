//! The form: `application/x-www-form-urlencoded` (URL standard), decoded once, into memory that is wiped.

use std::borrow::Cow;

use dropin_card::StashedData;
use dropin_http::ApiError;
use dropin_kernel::{SessionId, Violation, ViolationCode, Violations};
use dropin_validation::Text;
use dropin_wire::stash::{parse_card_json, parse_token_json};
use dropin_wire::{ErrorCode, FieldError, only_known_parameters};
use zeroize::Zeroizing;

/// A form that can be stashed. No Debug.
pub(crate) struct StashForm {
    /// Of the browser.
    pub(crate) fingerprint: String,
    /// The Session that it is for, when the form names one.
    pub(crate) session: Option<SessionId>,
    /// As it was typed, or as the wallet gave it.
    pub(crate) data: StashedData,
    /// As the browser names it, checked by nobody yet.
    pub(crate) time_zone: Option<Zeroizing<String>>,
    /// As the browser names it, checked by nobody yet.
    pub(crate) language: Option<Zeroizing<String>>,
}

const FIELDS: [&str; 6] = ["DeviceFingerprint", "Language", "SessionId", "TimeZone", "card", "token_data"];

type Field = Option<Zeroizing<String>>;

#[derive(Default)]
struct Fields {
    fingerprint: Field,
    session: Field,
    card: Field,
    token_data: Field,
    time_zone: Field,
    language: Field,
}

/// Reads the form.
///
/// # Errors
/// 400 INVALID_REQUEST with everything that is wrong and nothing that was sent.
pub(crate) fn parse(body: &[u8]) -> Result<StashForm, ApiError> {
    let mut all = Violations::new();
    let fields = split(body, &mut all);
    let fingerprint = match &fields.fingerprint {
        Some(text) => all.check(Text::parse("DeviceFingerprint", text)),
        None => missing("DeviceFingerprint", "is required", &mut all),
    };
    let data = match (&fields.card, &fields.token_data) {
        (Some(_), Some(_)) => {
            all.push("card", ViolationCode::Conflict, "send either card or token_data");
            all.push("token_data", ViolationCode::Conflict, "send either card or token_data");
            None
        }
        (None, None) => missing("card", "is required, or token_data in its place", &mut all),
        (Some(json), None) => all.check(parse_card_json(json).map(StashedData::Card)),
        (None, Some(json)) => valid(parse_token_json(json).map(StashedData::WalletToken), &mut all),
    };
    let session = fields.session.as_ref().filter(|text| !text.is_empty()).and_then(|text| {
        let invalid =
            |_no_id| Violation::new("SessionId", ViolationCode::Invalid, "must be the id of a Session, or left out");
        all.check(text.parse().map_err(invalid))
    });
    match (fingerprint, data) {
        (Some(fingerprint), Some(data)) if all.is_empty() => {
            let Fields { time_zone, language, .. } = fields;
            Ok(StashForm { fingerprint: fingerprint.as_str().to_owned(), session, data, time_zone, language })
        }
        _ => Err(refused(all)),
    }
}

fn missing<T>(field: &str, message: &str, all: &mut Violations) -> Option<T> {
    all.push(field, ViolationCode::Missing, message);
    None
}

fn valid(parsed: Result<StashedData, Vec<Violation>>, all: &mut Violations) -> Option<StashedData> {
    parsed.map_err(|violations| violations.into_iter().for_each(|one| all.push(one.field, one.code, one.message))).ok()
}

fn refused(all: Violations) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, "The form is not valid; FieldErrors names what to change.")
        .with_field_errors(all.into_sorted().into_iter().map(FieldError::from).collect())
}

/// The fields that mean something; others are refused.
fn split(body: &[u8], all: &mut Violations) -> Fields {
    let (mut fields, mut unknown) = (Fields::default(), Vec::new());
    for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let (name, value) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
        let Some(name) = decode(name) else { continue };
        let field = match name.as_str() {
            "DeviceFingerprint" => &mut fields.fingerprint,
            "SessionId" => &mut fields.session,
            "card" => &mut fields.card,
            "token_data" => &mut fields.token_data,
            "TimeZone" => {
                hint(&mut fields.time_zone, value);
                continue;
            }
            "Language" => {
                hint(&mut fields.language, value);
                continue;
            }
            other => {
                unknown.push(Zeroizing::new(other.to_owned()));
                continue;
            }
        };
        if field.is_some() {
            all.push(name.as_str(), ViolationCode::Invalid, "is given more than once");
            continue;
        }
        let text = decode(value);
        if text.is_none() {
            all.push(name.as_str(), ViolationCode::Invalid, "is not percent-encoded UTF-8");
        }
        // What cannot be read was given all the same, so that it is not reported as missing too.
        *field = Some(text.unwrap_or_default());
    }
    // A name that is more than letters may be the card itself, sent the wrong way.
    let plain = |name: &str| name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let names = unknown.iter().map(|name| Cow::Borrowed(if plain(name) { name.as_str() } else { "?" }));
    if let Err(violations) = only_known_parameters(names, &FIELDS) {
        all.extend(violations);
    }
    fields
}

/// What is only for screening: no payment fails for it, so what is given twice or cannot be read is left out.
fn hint(field: &mut Field, value: &[u8]) {
    let given_before = field.is_some();
    *field = Some(if given_before { Field::default() } else { decode(value) }.unwrap_or_default());
}

/// Plus signs are spaces, `%` and two digits are a byte; `None` when a `%` stands alone or the bytes are no UTF-8.
fn decode(encoded: &[u8]) -> Option<Zeroizing<String>> {
    // Never longer than the encoded text, so it never grows and leaves no copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(encoded.len()));
    let mut rest = encoded;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, after) = rest.split_first_chunk::<2>()?;
                rest = after;
                hex(digits[0])? << 4 | hex(digits[1])?
            }
            byte => *byte,
        });
    }
    std::str::from_utf8(&bytes).ok()?;
    String::from_utf8(std::mem::take(&mut *bytes)).ok().map(Zeroizing::new)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use dropin_card::{Card, Wallet, WalletToken};

    use super::*;

    const CARD: &str =
        r#"card={"Number":"4242+4242+4242+4242","VerificationCode":"123","Expiry":{"Year":"2030","Month":"12"}}"#;

    fn errors(body: &str) -> Vec<(String, &'static str)> {
        let error = parse(body.as_bytes()).err().expect("refused");
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        error.field_errors.into_iter().map(|one| (one.field, one.code)).collect()
    }

    fn of<'a>(expected: &'a [(&'a str, &'static str)]) -> Vec<(String, &'static str)> {
        expected.iter().map(|(field, code)| ((*field).to_owned(), *code)).collect()
    }

    #[test]
    fn plus_and_percent_are_decoded() {
        let form = parse(format!("DeviceFingerprint=caf%C3%A9+1%2b1&{CARD}&").as_bytes()).expect("a form");
        assert_eq!(form.fingerprint, "café 1+1");
        assert_eq!(form.data, StashedData::Card(Card::new("", "4242 4242 4242 4242", "123", "2030", "12")));
    }

    #[test]
    fn a_session_is_named_by_its_id_or_not_at_all() {
        const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        let session =
            |field: &str| parse(format!("{field}DeviceFingerprint=f&{CARD}").as_bytes()).map(|form| form.session);
        assert_eq!(session(&format!("SessionId={ID}&")).ok().flatten(), Some(ID.parse().unwrap()));
        assert_eq!((session("SessionId=&").ok(), session("").ok()), (Some(None), Some(None)));
        assert_eq!(errors(&format!("SessionId=7&DeviceFingerprint=f&{CARD}")), of(&[("SessionId", "FIELD_INVALID")]));
    }

    #[test]
    fn what_the_browser_says_of_itself_is_taken_or_left_and_never_refused() {
        let said = |fields: &str| {
            let form =
                parse(format!("{fields}&DeviceFingerprint=f&{CARD}").as_bytes()).unwrap_or_else(|_| panic!("{fields}"));
            let text = |field: Field| field.map(|text| text.to_string());
            (text(form.time_zone), text(form.language))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(said("TimeZone=Europe%2FVienna&Language=de-AT"), (some("Europe/Vienna"), some("de-AT")));
        assert_eq!(said(""), (None, None));
        for odd in ["TimeZone=%&Language=%ff", "TimeZone=&Language", "TimeZone=a&Language=b&TimeZone=c&Language=d"] {
            assert_eq!(said(odd), (some(""), some("")), "{odd}");
        }
    }

    #[test]
    fn a_token_is_decoded_once_and_kept_as_it_is() {
        let body =
            "DeviceFingerprint=f&token_data=%7B%22Type%22:%22APPLEPAY%22,%22Data%22:%7B%22t%22:+%22a%252Fb%2B%22%7D%7D";
        let form = parse(body.as_bytes()).expect("a form");
        assert_eq!(form.data, StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, r#"{"t": "a%2Fb+"}"#)));
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        assert_eq!(errors(""), of(&[("DeviceFingerprint", "FIELD_MISSING"), ("card", "FIELD_MISSING")]));
        assert_eq!(errors(CARD), of(&[("DeviceFingerprint", "FIELD_MISSING")]));
        assert_eq!(errors(&format!("DeviceFingerprint=+&{CARD}")), of(&[("DeviceFingerprint", "FIELD_MISSING")]));
        assert_eq!(
            errors("DeviceFingerprint=f&token_data={}"),
            of(&[("token_data.Data", "FIELD_MISSING"), ("token_data.Type", "FIELD_MISSING")])
        );
        assert_eq!(
            errors(&format!("DeviceFingerprint=f&token_data={{}}&{CARD}")),
            of(&[("card", "CONFLICT"), ("token_data", "CONFLICT")])
        );
        assert_eq!(
            errors("DeviceFingerprint=%00&card=[]"),
            of(&[("DeviceFingerprint", "FIELD_INVALID"), ("card", "FIELD_INVALID")])
        );
        assert_eq!(
            errors(&format!("DeviceFingerprint=f&DeviceFingerprint=g&{CARD}&{CARD}")),
            of(&[("DeviceFingerprint", "FIELD_INVALID"), ("card", "FIELD_INVALID")])
        );
    }

    #[test]
    fn a_field_that_is_not_known_is_refused_with_the_nearest() {
        let error = parse(format!("DeviceFingerprint=f&{CARD}&Card=1").as_bytes()).err().expect("refused");
        let [unknown] = &error.field_errors[..] else { panic!("{error:?}") };
        assert_eq!((unknown.field.as_str(), unknown.code), ("Card", "FIELD_UNKNOWN"));
        assert!(unknown.message.ends_with("card"), "{}", unknown.message);
    }

    #[test]
    fn what_cannot_be_decoded_is_not_guessed() {
        for broken in ["%", "%4", "%zz", "%+1", "%ff", "%C3"] {
            let told = errors(&format!("DeviceFingerprint={broken}&{CARD}"));
            assert!(told.contains(&("DeviceFingerprint".to_owned(), "FIELD_INVALID")), "{broken}: {told:?}");
        }
    }

    #[test]
    fn errors_repeat_nothing_of_the_card() {
        let body = "4000000000000002=987&card={\"Number\":4000000000000002,\"Expiry\":\"987\"";
        let error = parse(body.as_bytes()).err().expect("refused");
        let told = format!("{error:?} {error}");
        assert!(!told.contains("4000000000000002") && !told.contains("987"), "{told}");
    }
}
