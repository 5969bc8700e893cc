use dropin_kernel::OrderId;

/// Most characters of a reference that a transfer carries: the creditor reference of a SEPA credit transfer (EPC115-06, AT-22).
pub const MAX_TRANSFER_REFERENCE_CHARS: usize = 35;
/// So many of them are left for the merchant's number when a part of the Order's id follows.
const MAX_HEAD_CHARS: usize = MAX_TRANSFER_REFERENCE_CHARS - 9;

/// What the shopper writes on a transfer (docs/SPECIFICATION.md#payment-reference): the merchant's number, as far as a transfer carries it.
///
/// Characters outside the SEPA set (EPC217-08) become hyphens, and what is too long is cut off. Two numbers may become one by that: `round` counts
/// how often the result was taken by another open transfer of the merchant, and from 1 on a part of the Order's id follows.
///
/// ```
/// use dropin_kernel::{OrderId, uuid::Uuid};
///
/// let order = OrderId::new(Uuid::from_u128(0x7f80_9103));
/// assert_eq!(dropin_order::transfer_reference("order_1001#2", order, 0), "order-1001-2");
/// assert_eq!(dropin_order::transfer_reference("order-1001", order, 1), "order-1001-7F809103");
/// ```
pub fn transfer_reference(merchant_reference: &str, order: OrderId, round: u32) -> String {
    let carried = |c: char| if c.is_ascii_alphanumeric() || "/-?:().,'+ ".contains(c) { c } else { '-' };
    let mut plain = String::with_capacity(merchant_reference.len().min(64));
    for c in merchant_reference.chars().map(carried) {
        // A reference neither begins nor ends with a slash, nor has two together; spaces and hyphens in a row say no more than one.
        let again = matches!(c, '/' | ' ' | '-') && plain.ends_with(c);
        if !again {
            plain.push(c);
        }
    }
    let cut = |text: &str, most: usize| {
        let head: String = text.chars().take(most).collect();
        head.trim_matches([' ', '/', '-']).to_owned()
    };
    let whole = cut(plain.trim_matches([' ', '/', '-']), MAX_TRANSFER_REFERENCE_CHARS);
    if round == 0 && whole.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
        return whole;
    }
    let id = order.uuid().simple().to_string().to_uppercase();
    let head = cut(&whole, MAX_HEAD_CHARS);
    let tail = &id[24..];
    if head.is_empty() { tail.to_owned() } else { format!("{head}-{tail}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103";

    fn of(reference: &str, round: u32) -> String {
        transfer_reference(reference, ORDER.parse().expect("an id"), round)
    }

    #[test]
    fn it_is_the_merchants_number_as_far_as_a_transfer_carries_it() {
        for (reference, written) in [
            ("order-1001", "order-1001"),
            ("Order 7 (b)", "Order 7 (b)"),
            ("order_1001#2", "order-1001-2"),
            ("/a//b/", "a/b"),
            ("№ 12", "12"),
            ("订单", "7F809103"),
            ("an-order-with-a-number-that-is-far-too-long-000017", "an-order-with-a-number-that-is-far"),
        ] {
            assert_eq!(of(reference, 0), written, "{reference}");
        }
    }

    #[test]
    fn a_number_that_is_taken_is_followed_by_a_part_of_the_orders_id() {
        assert_eq!(of("order-1001", 1), "order-1001-7F809103");
        let long = of(&"7".repeat(255), 1);
        assert_eq!((long.len(), long.ends_with("-7F809103")), (35, true));
    }

    proptest::proptest! {
        #[test]
        fn it_always_fits(reference in "\\PC{1,255}", round in 0_u32..3) {
            let written = of(&reference, round);
            proptest::prop_assert!((1..=35).contains(&written.len()), "{written}");
            proptest::prop_assert!(written.chars().all(|c| c.is_ascii_alphanumeric() || "/-?:().,'+ ".contains(c)), "{written}");
            proptest::prop_assert!(!written.contains("//") && !written.starts_with('/') && !written.ends_with('/'), "{written}");
        }
    }
}
