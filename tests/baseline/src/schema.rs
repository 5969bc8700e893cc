//! The two tables of `tables.sql`.

diesel::table! {
    profile (id) {
        id -> Uuid,
        merchant_id -> Uuid,
        details -> Jsonb,
    }
}

diesel::table! {
    session (id) {
        id -> Uuid,
        merchant_id -> Uuid,
        reference -> Text,
        state -> Text,
        currency -> Text,
        total_minor -> Int8,
        profile_id -> Uuid,
        terms -> Jsonb,
    }
}

diesel::joinable!(session -> profile (profile_id));
diesel::allow_tables_to_appear_in_same_query!(profile, session);
