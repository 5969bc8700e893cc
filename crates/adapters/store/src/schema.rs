//! The tables, as diesel sees them; the same for both databases.

/// Writes `table!` with our own SQL types in scope.
macro_rules! tables {
    ($($table:ident ($($key:ident),+) { $($column:ident -> $sql:ty,)+ })+) => {$(
        diesel::table! {
            use diesel::sql_types::*;
            use dropin_store_runtime::sql::{SqlDocument, SqlId, SqlInstant};
            $table ($($key),+) { $($column -> $sql,)+ }
        }
    )+};
}

tables! {
    deployment (id) {
        id -> Integer,
        mode -> Nullable<Text>,
        master_key -> Nullable<Text>,
        written_at -> Nullable<SqlInstant>,
    }
    merchant (id) {
        id -> SqlId,
        name -> Text,
        session_lifetime_micros -> BigInt,
        created_at -> SqlInstant,
        sandbox -> Bool,
        methods -> Nullable<SqlDocument>,
        attempts_allowed -> Integer,
        saved_cards_offered -> Bool,
        saved_card_kind -> Text,
        screening -> Bool,
        screening_rules_revision -> BigInt,
        processor_routing -> Nullable<Text>,
    }
    merchant_screening_rules (merchant_id) {
        merchant_id -> SqlId,
        rules -> Text,
    }
    merchant_currency (merchant_id, currency) {
        merchant_id -> SqlId,
        position -> Integer,
        currency -> Text,
    }
    merchant_origin (merchant_id, origin) {
        merchant_id -> SqlId,
        position -> Integer,
        origin -> Text,
    }
    api_user (id) {
        id -> SqlId,
        merchant_id -> SqlId,
        username -> Text,
        password -> Binary,
        permissions -> Text,
        previous_password -> Nullable<Binary>,
        previous_until -> Nullable<SqlInstant>,
        revoked_at -> Nullable<SqlInstant>,
    }
    endpoint (id) {
        id -> SqlId,
        merchant_id -> SqlId,
        url -> Text,
        secret -> Binary,
        previous_secret -> Nullable<Binary>,
        previous_until -> Nullable<SqlInstant>,
        removed_at -> Nullable<SqlInstant>,
        event_types -> Nullable<Text>,
        retry -> Nullable<Text>,
    }
    billing_profile (id) {
        id -> SqlId,
        position -> BigInt,
        merchant_id -> SqlId,
        reference -> Nullable<Text>,
        details -> SqlDocument,
        created_at -> SqlInstant,
    }
    merchant_reference (merchant_id, reference) {
        merchant_id -> SqlId,
        reference -> Text,
        owner_kind -> Text,
        owner_id -> SqlId,
    }
    session (id) {
        id -> SqlId,
        merchant_id -> SqlId,
        revision -> BigInt,
        state -> Text,
        order_id -> Nullable<SqlId>,
        attempt_id -> Nullable<SqlId>,
        cancel_reason -> Nullable<Text>,
        failure_reason -> Nullable<Text>,
        currency -> Text,
        total_minor -> BigInt,
        billing_profile_id -> SqlId,
        terms -> SqlDocument,
        created_at -> SqlInstant,
        updated_at -> SqlInstant,
        expires_at -> SqlInstant,
        attempts_failed -> Integer,
        attempts_allowed -> Integer,
        last_attempt_id -> Nullable<SqlId>,
        last_failure -> Nullable<Text>,
    }
    purchase_order (id) {
        id -> SqlId,
        merchant_id -> SqlId,
        session_id -> Nullable<SqlId>,
        merchant_reference -> Text,
        revision -> BigInt,
        state -> Text,
        under_review -> Bool,
        shown -> Bool,
        currency -> Text,
        total_minor -> BigInt,
        authorized_minor -> BigInt,
        captured_minor -> BigInt,
        capture_pending_minor -> BigInt,
        refunded_minor -> BigInt,
        refund_pending_minor -> BigInt,
        auto_capture -> Bool,
        payment_method -> Text,
        created_at -> SqlInstant,
        updated_at -> SqlInstant,
        expires_at -> Nullable<SqlInstant>,
        page -> Nullable<Text>,
        bank_details -> Nullable<SqlDocument>,
        voiding -> Nullable<Text>,
        capture_promised_minor -> Nullable<BigInt>,
        return_url -> Nullable<Text>,
        attempt_id -> Nullable<SqlId>,
        failure -> Nullable<Text>,
        transfer_reference -> Nullable<Text>,
        transfer_page -> Nullable<Text>,
        card_hash -> Nullable<Binary>,
        contract_id -> Nullable<SqlId>,
        card_last_four -> Nullable<Text>,
        disputed_minor -> BigInt,
    }
    dispute (id) {
        id -> SqlId,
        order_id -> SqlId,
        merchant_id -> SqlId,
        processor -> Text,
        reference -> Text,
        revision -> BigInt,
        state -> Text,
        reason -> Text,
        currency -> Text,
        amount_minor -> BigInt,
        due_at -> Nullable<SqlInstant>,
        created_at -> SqlInstant,
        updated_at -> SqlInstant,
        look_at -> SqlInstant,
    }
    dispute_answer (id) {
        id -> SqlId,
        dispute_id -> SqlId,
        merchant_id -> SqlId,
        kind -> Text,
        state -> Text,
        tries -> Integer,
        due_at -> SqlInstant,
        created_at -> SqlInstant,
    }
    dispute_evidence (answer_id) {
        answer_id -> SqlId,
        sealed -> Binary,
    }
    dispute_position (processor) {
        processor -> Text,
        position -> Text,
    }
    contract (id) {
        id -> SqlId,
        merchant_id -> SqlId,
        revision -> BigInt,
        state -> Text,
        suspend_reason -> Nullable<Text>,
        close_reason -> Nullable<Text>,
        failure -> Nullable<Text>,
        kind -> Text,
        session_id -> Nullable<SqlId>,
        order_id -> Nullable<SqlId>,
        reference -> Nullable<Text>,
        payment_method -> Text,
        currency -> Text,
        billing_profile_reference -> Nullable<Text>,
        consent_text_version -> Text,
        consent_locale -> Text,
        consent_at -> SqlInstant,
        card_scheme -> Nullable<Text>,
        card_last_four -> Nullable<Text>,
        card_expiry -> Nullable<Text>,
        card_number_since -> Nullable<SqlInstant>,
        card_updated_at -> Nullable<SqlInstant>,
        card_expiry_told_at -> Nullable<SqlInstant>,
        network_transaction_id -> Nullable<Text>,
        created_at -> SqlInstant,
        updated_at -> SqlInstant,
        due_at -> Nullable<SqlInstant>,
    }
    contract_credential (contract_id) {
        contract_id -> SqlId,
        merchant_id -> SqlId,
        key_id -> Text,
        sealed -> Binary,
        delete_at -> Nullable<SqlInstant>,
        order_id -> Nullable<SqlId>,
    }
    discarded_credential (order_id) {
        order_id -> SqlId,
        contract_id -> SqlId,
        merchant_id -> SqlId,
        key_id -> Text,
        sealed -> Binary,
        delete_at -> SqlInstant,
    }
    contract_try (order_id) {
        order_id -> SqlId,
        contract_id -> SqlId,
        tried_at -> SqlInstant,
        result -> Text,
        category -> Nullable<Text>,
        asked_wait_micros -> Nullable<BigInt>,
    }
    refund (id) {
        id -> SqlId,
        position -> BigInt,
        order_id -> SqlId,
        merchant_id -> SqlId,
        reference -> Text,
        currency -> Text,
        amount_minor -> BigInt,
        description -> Nullable<Text>,
        state -> Text,
        created_at -> SqlInstant,
        updated_at -> SqlInstant,
        settlement_currency -> Nullable<Text>,
        settlement_minor -> Nullable<BigInt>,
    }
    checkout (order_id) {
        order_id -> SqlId,
        merchant_id -> SqlId,
        document -> SqlDocument,
    }
    processor_op (id) {
        id -> SqlId,
        position -> BigInt,
        order_id -> SqlId,
        kind -> Text,
        state -> Text,
        currency -> Text,
        amount_minor -> BigInt,
        authorization_id -> Nullable<SqlId>,
        refund_id -> Nullable<SqlId>,
        processor_reference -> Nullable<Text>,
        processor_id -> Nullable<Text>,
        channel -> Text,
        epoch -> BigInt,
        tries -> Integer,
        due_at -> SqlInstant,
        created_at -> SqlInstant,
    }
    ledger_posting (id) {
        id -> SqlId,
        order_id -> SqlId,
        currency -> Text,
        shopper_minor -> BigInt,
        authorized_minor -> BigInt,
        captured_minor -> BigInt,
        refunded_minor -> BigInt,
        disputed_minor -> BigInt,
        charged_back_minor -> BigInt,
        posted_at -> SqlInstant,
    }
    history (position) {
        position -> BigInt,
        merchant_id -> SqlId,
        subject_kind -> Text,
        subject_id -> SqlId,
        actor_kind -> Text,
        actor_name -> Nullable<Text>,
        what -> Text,
        state_before -> Nullable<Text>,
        state_after -> Text,
        happened_at -> SqlInstant,
    }
    outbox_event (payment_id, sequence) {
        payment_id -> SqlId,
        sequence -> BigInt,
        event_id -> SqlId,
        merchant_id -> SqlId,
        event_type -> Text,
        body -> Binary,
        happened_at -> SqlInstant,
    }
    outbox_stream (id) {
        id -> BigInt,
        endpoint_id -> SqlId,
        payment_id -> SqlId,
        detached -> Bool,
        next_sequence -> BigInt,
        last_sequence -> BigInt,
        attempt -> Integer,
        first_try -> Nullable<SqlInstant>,
        due_at -> SqlInstant,
        uncounted -> Integer,
        leased -> Bool,
        replayed -> Bool,
    }
    outbox_replay_rest (stream_id, sequence) {
        stream_id -> BigInt,
        sequence -> BigInt,
    }
    outbox_parked (endpoint_id, event_id) {
        position -> BigInt,
        endpoint_id -> SqlId,
        event_id -> SqlId,
        attempts -> Integer,
        parked_at -> SqlInstant,
    }
    outbox_discarded (event_id, endpoint_id) {
        event_id -> SqlId,
        endpoint_id -> SqlId,
    }
    stash (merchant_id, stash_id, fingerprint) {
        merchant_id -> SqlId,
        stash_id -> Text,
        fingerprint -> Text,
        key_id -> Text,
        ciphertext -> Binary,
        scheme -> Nullable<Text>,
        usable -> Bool,
        created_at -> SqlInstant,
        expires_at -> SqlInstant,
    }
    processor_account (id) {
        id -> SqlId,
        merchant_id -> SqlId,
        processor -> Text,
        account -> Text,
        has_events -> Bool,
        sealed -> Binary,
        set_at -> SqlInstant,
        removed_at -> Nullable<SqlInstant>,
    }
    wallet_identity (merchant_id) {
        merchant_id -> SqlId,
        merchant_identifier -> Text,
        country -> Text,
        sealed -> Binary,
        expires_at -> SqlInstant,
        set_at -> SqlInstant,
    }
    wallet_domain (merchant_id, domain) {
        merchant_id -> SqlId,
        domain -> Text,
        file -> Text,
        state -> Text,
        checked_at -> Nullable<SqlInstant>,
        failure -> Nullable<Text>,
        registered_at -> SqlInstant,
    }
    merchant_rates (merchant_id) {
        merchant_id -> SqlId,
        form -> Text,
        settlement_currency -> Text,
        markups -> SqlDocument,
    }
    rate_table (position) {
        position -> BigInt,
        document -> SqlDocument,
        accepted_at -> SqlInstant,
    }
    rate_feed (id) {
        id -> Integer,
        checked_at -> SqlInstant,
        next_at -> SqlInstant,
        stale_at -> Nullable<SqlInstant>,
        left_behind -> SqlDocument,
        problem -> Nullable<Text>,
        refused -> SqlDocument,
    }
    rate_offer_set (merchant_id, number) {
        merchant_id -> SqlId,
        number -> BigInt,
        settlement_currency -> Text,
        created_at -> SqlInstant,
        expires_at -> SqlInstant,
    }
    rate_offer (id) {
        id -> SqlId,
        merchant_id -> SqlId,
        set_number -> BigInt,
        currency -> Text,
        rate -> Text,
    }
    operator (id) {
        id -> SqlId,
        name -> Text,
        email -> Text,
        email_key -> Text,
        state -> Text,
        roles -> Text,
        is_of_deployment -> Bool,
        password -> Nullable<Text>,
        authenticator -> Nullable<Binary>,
        used_step -> Nullable<BigInt>,
        created_at -> SqlInstant,
    }
    operator_merchant (operator_id, merchant_id) {
        operator_id -> SqlId,
        merchant_id -> SqlId,
    }
    operator_refund_limit (operator_id, currency) {
        operator_id -> SqlId,
        currency -> Text,
        limit_minor -> BigInt,
    }
    operator_invitation (token_hash) {
        token_hash -> Binary,
        operator_id -> Nullable<SqlId>,
        expires_at -> SqlInstant,
    }
    operator_session (id) {
        id -> SqlId,
        operator_id -> SqlId,
        token_hash -> Binary,
        stage -> Text,
        wrong_codes -> Integer,
        created_at -> SqlInstant,
        seen_at -> SqlInstant,
        client -> Text,
        user_agent -> Text,
    }
    operator_recovery_code (operator_id, code_hash) {
        operator_id -> SqlId,
        code_hash -> Binary,
    }
    merchant_approval_limit (merchant_id, currency) {
        merchant_id -> SqlId,
        currency -> Text,
        limit_minor -> BigInt,
    }
    money_request (id) {
        id -> SqlId,
        kind -> Text,
        merchant_id -> SqlId,
        order_id -> SqlId,
        currency -> Text,
        amount_minor -> BigInt,
        note -> Text,
        requested_by -> SqlId,
        requested_at -> SqlInstant,
        state -> Text,
        decided_by -> Nullable<SqlId>,
        decided_at -> Nullable<SqlInstant>,
    }
    velocity_counter (hash) {
        hash -> Binary,
        counts -> Binary,
        revision -> BigInt,
        counts_until -> SqlInstant,
    }
    payment_try (order_id) {
        order_id -> SqlId,
        merchant_id -> SqlId,
        tried_at -> SqlInstant,
        state -> Text,
        keys -> Binary,
        session_hash -> Nullable<Binary>,
        amount_cents -> Nullable<BigInt>,
    }
    known_shopper (merchant_id, hash) {
        merchant_id -> SqlId,
        hash -> Binary,
        first_paid_at -> SqlInstant,
        seen_at -> SqlInstant,
    }
    screening (order_id) {
        order_id -> SqlId,
        merchant_id -> SqlId,
        ordered_at -> SqlInstant,
        verdict -> Text,
        facts -> Nullable<Text>,
        velocity -> Nullable<Binary>,
    }
    answer (merchant_id, digest) {
        merchant_id -> SqlId,
        digest -> Binary,
        fingerprint -> Binary,
        operation_id -> Nullable<SqlId>,
        status -> Nullable<Integer>,
        etag -> Nullable<Text>,
        body -> Nullable<Binary>,
        created_at -> SqlInstant,
        expires_at -> SqlInstant,
    }
    audit_log (position) {
        position -> BigInt,
        id -> SqlId,
        merchant_id -> Nullable<SqlId>,
        actor_kind -> Text,
        actor_name -> Nullable<Text>,
        address -> Nullable<Text>,
        note -> Nullable<Text>,
        action -> Text,
        subject_kind -> Text,
        subject_id -> Text,
        value_before -> Nullable<Text>,
        value_after -> Nullable<Text>,
        happened_at -> SqlInstant,
    }
    audit_seal (entry_id) {
        entry_id -> SqlId,
        chain_id -> SqlId,
        sequence -> BigInt,
        key_id -> Text,
        mac -> Binary,
        sealed_at -> SqlInstant,
    }
    audit_unsealed (position) {
        position -> BigInt,
    }
    audit_sealer (id) {
        id -> Integer,
        epoch -> BigInt,
        lease_until -> SqlInstant,
    }
}

diesel::joinable!(session -> billing_profile (billing_profile_id));
diesel::joinable!(api_user -> merchant (merchant_id));
diesel::joinable!(merchant_screening_rules -> merchant (merchant_id));
diesel::joinable!(processor_op -> purchase_order (order_id));
diesel::joinable!(outbox_stream -> endpoint (endpoint_id));
diesel::allow_tables_to_appear_in_same_query!(
    merchant,
    merchant_screening_rules,
    api_user,
    endpoint,
    billing_profile,
    session,
    purchase_order,
    processor_op,
    outbox_event,
    outbox_stream,
    outbox_parked,
    contract_credential,
);
diesel::allow_tables_to_appear_in_same_query!(audit_log, audit_seal, audit_unsealed);
