//! What holds a card, a code or a token has no text and no serialized form, whatever features are on.

use std::fmt::Display;

use dropin_card::{Card, CardHash, StashedData, WalletToken};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Compiles only while the type lacks each trait: with it, two implementations fit and the call is ambiguous.
macro_rules! lacks {
    ($type:ty: $($bound:path),+) => {$({
        trait AmbiguousWith<Marker> {
            fn is_lacked() -> bool {
                true
            }
        }
        struct Implemented;
        impl<T: ?Sized> AmbiguousWith<()> for T {}
        impl<T: ?Sized + $bound> AmbiguousWith<Implemented> for T {}
        assert!(<$type as AmbiguousWith<_>>::is_lacked());
    })+};
}

#[test]
fn secrets_have_no_text_and_no_serialized_form() {
    lacks!(Card: Display, Serialize, DeserializeOwned, Clone);
    lacks!(WalletToken: Display, Serialize, DeserializeOwned, Clone);
    lacks!(StashedData: Display, Serialize, DeserializeOwned, Clone);
    lacks!(CardHash: Display, Serialize, DeserializeOwned);
}

#[test]
fn debug_shows_none_of_their_characters() {
    let card = StashedData::Card(Card::new("Zoe Q", "4242 4242 4242 4242", "987", "2031", "12"));
    assert_eq!(format!("{card:?} {card:#?}"), "Card(Card(..)) Card(\n    Card(..),\n)");
}
