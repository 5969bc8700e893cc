//! Bodies of requests: forms in one buffer that wipes itself.

use zeroize::Zeroizing;

/// The media type of a form.
pub(crate) const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";

/// Most bytes that one byte takes in a form: `%00`.
const ESCAPED: usize = 3;

/// Writes these fields. The buffer has room for the worst, so that writing never reallocates and leaves an unwiped copy behind.
pub(crate) fn form(fields: &[(&str, &str)]) -> Zeroizing<Vec<u8>> {
    let room = fields.iter().map(|(name, value)| ESCAPED * (name.len() + value.len()) + 2).sum();
    let mut body = Zeroizing::new(Vec::with_capacity(room));
    for (index, (name, value)) in fields.iter().enumerate() {
        if 0 < index {
            body.push(b'&');
        }
        escape(&mut body, name);
        body.push(b'=');
        escape(&mut body, value);
    }
    body
}

fn escape(body: &mut Vec<u8>, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            body.push(byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            body.extend([b'%', DIGITS[high], DIGITS[low]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let fields = [("card[number]", "4242424242424242"), ("name", "Ána & Söhne = 100 %\r\n+"), ("empty", "")];
        let body = form(&fields);
        let read: Vec<_> = url::form_urlencoded::parse(&body).into_owned().collect();
        let expected = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read, expected);
    }

    #[test]
    fn a_body_fits_the_room_it_was_given() {
        let worst = "\u{1}".repeat(4_096);
        let fields = [("name", worst.as_str()), ("other", &worst)];
        let body = form(&fields);
        assert_eq!(body.capacity(), ESCAPED * (2 * 4_096 + 9) + 4, "it grew");
    }
}
