use dropin_kernel::coded_enum;

coded_enum! {
    /// Who began a payment, as the card schemes' rules for stored credentials tell the two apart.
    ///
    /// ```
    /// use dropin_contract::Initiator;
    ///
    /// assert_eq!(Initiator::Merchant.as_str(), "MERCHANT");
    /// ```
    pub enum Initiator: "initiator" {
        /// The shopper, who is there and can authenticate.
        Customer = "CUSTOMER",
        /// The merchant, while the shopper is away.
        Merchant = "MERCHANT",
    }
}

coded_enum! {
    /// What a contract allows (docs/SPECIFICATION.md#contract-kinds).
    ///
    /// ```
    /// use dropin_contract::ContractKind;
    ///
    /// assert_eq!("ONE_CLICK".parse(), Ok(ContractKind::OneClick));
    /// let by_the_merchant = ContractKind::ALL.map(ContractKind::allows_merchant_charges);
    /// assert_eq!(by_the_merchant, [false, true, true]);
    /// ```
    pub enum ContractKind: "kind of contract" {
        /// The shopper pays again without typing the card; the merchant may not charge it alone.
        OneClick = "ONE_CLICK",
        /// The merchant charges at a regular interval: a subscription.
        Recurring = "RECURRING",
        /// The merchant charges when something happens that was agreed on, such as a balance that runs low.
        Unscheduled = "UNSCHEDULED",
    }
}

impl ContractKind {
    /// Whether the merchant may charge it without the shopper (docs/SPECIFICATION.md#contract-checkout).
    pub const fn allows_merchant_charges(self) -> bool {
        matches!(self, Self::Recurring | Self::Unscheduled)
    }

    /// Whether the shopper may close it in the drop-in; one that the merchant charges is closed by the merchant (docs/SPECIFICATION.md#one-click).
    ///
    /// ```
    /// # use dropin_contract::ContractKind;
    /// assert!(ContractKind::OneClick.is_closed_by_shopper() && !ContractKind::Recurring.is_closed_by_shopper());
    /// ```
    pub const fn is_closed_by_shopper(self) -> bool {
        matches!(self, Self::OneClick)
    }

    /// Whether `openContract` makes it; ONE_CLICK comes from a Session alone (docs/SPECIFICATION.md#open-contract).
    ///
    /// ```
    /// # use dropin_contract::ContractKind;
    /// assert!(ContractKind::Unscheduled.is_opened_by_server() && !ContractKind::OneClick.is_opened_by_server());
    /// ```
    pub const fn is_opened_by_server(self) -> bool {
        !matches!(self, Self::OneClick)
    }
}
