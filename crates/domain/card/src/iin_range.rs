/// First digits (lowest and highest, equally long) of the numbers that an `Issuer` issues: a scheme or a brand.
pub(crate) struct IinRange<Issuer>(pub(crate) Issuer, pub(crate) &'static str, pub(crate) &'static str);

impl<Issuer> IinRange<Issuer> {
    /// Whether a number that begins with `digits` lies in it.
    pub(crate) fn has(&self, digits: &str) -> bool {
        digits.get(..self.1.len()).is_some_and(|head| (self.1..=self.2).contains(&head))
    }
}
