-- Begins Orders, and tells which by their numbers, each with the card that was stashed for it. One whose Session,
-- contract or stash entry is not as it was when that was decided, or whose reference, key or open transfer's
-- reference was used before, is left out, also when a Session changes at the same moment. A contract, an entry or a
-- key that does fails the whole.
--
-- Everybody takes the reference first, then the Session, the contract, the Order, the key, and the stash entry last,
-- which any number may ask for; references and keys in their own order, Sessions and contracts in that of their ids,
-- Orders in that of their transfers' references, and entries in that of their keys. Each part reads what the one
-- before it returned, so that PostgreSQL keeps to that.
--
-- Rows that most batches have none of are read only where there are any: each column would cost the others time.
--
-- $1 to $41, input_row: An Order that is begun, the Session that it pays or what the checkout said, its contract, the
-- key of the request, and the stash entry that it uses up; `number` names it in the other rows.
-- $42 to $69, contract_row: A contract that is opened, or as it is after a change; `number` names the batched row
-- that it belongs to.
-- $70 to $85, next: An operation to be written down; `number` says for whom.
-- $86 to $95, step: A step for the history; `number` names the batched row that it belongs to.
-- $96 to $108, entry: An entry of the audit log; `number` names the batched row that it belongs to.

WITH input_row AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::text[], $7::uuid[], $8::timestamptz[],
        $9::uuid[], $10::text[], $11::bigint[], $12::text[], $13::boolean[], $14::boolean[], $15::text[],
        $16::bigint[], $17::boolean[], $18::text[], $19::timestamptz[], $20::timestamptz[], $21::text[],
        $22::timestamptz[], $23::text[], $24::text[], $25::text[], $26::bytea[], $27::text[], $28::uuid[],
        $29::text[], $30::bigint[], $31::jsonb[], $32::uuid[], $33::bytea[], $34::bytea[], $35::timestamptz[],
        $36::timestamptz[], $37::text[], $38::text[], $39::text[], $40::boolean[], $41::timestamptz[]
    ) AS input_row (
        number, session_id, merchant_id, expected, session_revision, session_state, attempt_id, session_updated_at,
        order_id, reference, revision, state, under_review, shown, currency, total, auto_capture, payment_method,
        created_at, updated_at, return_url, expires_at, page, transfer_reference, transfer_page, card_hash,
        card_last_four, contract_id, contract_use, contract_expected, checkout, operation_id, digest, fingerprint,
        key_from, key_until, stash_id, browser, scheme, usable, now
    )
), ready AS MATERIALIZED (
    SELECT * FROM input_row
    WHERE input_row.expected IS NOT DISTINCT FROM (
        SELECT s.revision FROM session AS s
        WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id
    )
        AND (
            input_row.contract_use IS NULL
            OR input_row.contract_expected IS NOT DISTINCT FROM (
                SELECT c.revision FROM contract AS c
                WHERE c.id = input_row.contract_id AND c.merchant_id = input_row.merchant_id
            )
        )
        AND (SELECT TRUE FROM answer AS a WHERE a.merchant_id = input_row.merchant_id AND a.digest = input_row.digest)
            IS NULL
        AND (
            input_row.stash_id IS NULL
            OR (
                SELECT s.expires_at > input_row.now AND s.usable = input_row.usable AND s.scheme IS NOT DISTINCT FROM
                    input_row.scheme
                FROM stash AS s
                WHERE s.merchant_id = input_row.merchant_id
                    AND s.stash_id = input_row.stash_id
                    AND s.fingerprint = input_row.browser
            )
        )
        AND (
            input_row.transfer_reference IS NULL
            OR (
                SELECT TRUE FROM purchase_order AS o
                WHERE o.merchant_id = input_row.merchant_id
                    AND o.transfer_reference = input_row.transfer_reference
                    AND o.state = 'PROCESSING'
            ) IS NULL
        )
), taken AS (
    INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
    SELECT merchant_id, reference, 'CHECKOUT', order_id FROM ready WHERE session_id IS NULL
    ON CONFLICT DO NOTHING RETURNING owner_id
), owned AS MATERIALIZED (
    SELECT array_agg(owner_id) AS orders FROM taken
), granted AS MATERIALIZED (
    SELECT ready.* FROM owned, ready WHERE ready.session_id IS NOT NULL OR ready.order_id = ANY (owned.orders)
), moved AS (
    UPDATE session AS s
    SET revision = granted.session_revision, state = granted.session_state, order_id = granted.order_id,
        attempt_id = granted.attempt_id, updated_at = granted.session_updated_at
    FROM granted
    WHERE s.id = granted.session_id AND s.merchant_id = granted.merchant_id AND s.revision = granted.expected
    RETURNING granted.number
), sessions AS MATERIALIZED (
    SELECT array_agg(number) AS moved FROM moved
), paying AS MATERIALIZED (
    SELECT granted.* FROM sessions, granted WHERE granted.session_id IS NULL OR granted.number = ANY (sessions.moved)
), agreed AS (
    INSERT INTO contract (
        id, merchant_id, revision, state, suspend_reason, close_reason, failure, kind, session_id, order_id,
        reference, payment_method, currency, billing_profile_reference, consent_text_version, consent_locale,
        consent_at, card_scheme, card_last_four, card_expiry, card_number_since, card_updated_at, card_expiry_told_at,
        network_transaction_id, created_at, updated_at, due_at
    )
    SELECT contract_row.id, contract_row.merchant_id, contract_row.revision, contract_row.state,
        contract_row.suspend_reason, contract_row.close_reason, contract_row.failure, contract_row.kind,
        contract_row.session_id, contract_row.order_id, contract_row.reference, contract_row.payment_method,
        contract_row.currency, contract_row.billing_profile_reference, contract_row.consent_text_version,
        contract_row.consent_locale, contract_row.consent_at, contract_row.card_scheme, contract_row.card_last_four,
        contract_row.card_expiry, contract_row.card_number_since, contract_row.card_updated_at,
        contract_row.card_expiry_told_at, contract_row.network_transaction_id, contract_row.created_at,
        contract_row.updated_at, contract_row.due_at
    FROM paying
    JOIN unnest(
        $42::bigint[], $43::uuid[], $44::uuid[], $45::bigint[], $46::text[], $47::text[], $48::text[], $49::text[],
        $50::text[], $51::uuid[], $52::uuid[], $53::text[], $54::text[], $55::text[], $56::text[], $57::text[],
        $58::text[], $59::timestamptz[], $60::text[], $61::text[], $62::text[], $63::timestamptz[],
        $64::timestamptz[], $65::timestamptz[], $66::text[], $67::timestamptz[], $68::timestamptz[],
        $69::timestamptz[]
    ) AS contract_row (
        number, id, merchant_id, revision, state, suspend_reason, close_reason, failure, kind, session_id, order_id,
        reference, payment_method, currency, billing_profile_reference, consent_text_version, consent_locale,
        consent_at, card_scheme, card_last_four, card_expiry, card_number_since, card_updated_at, card_expiry_told_at,
        network_transaction_id, created_at, updated_at, due_at
    ) ON contract_row.number = paying.number
    WHERE 0 < cardinality($42::bigint[])
    ORDER BY contract_row.id
    ON CONFLICT (id) DO UPDATE
    SET revision = excluded.revision, state = excluded.state, suspend_reason = excluded.suspend_reason,
        close_reason = excluded.close_reason, failure = excluded.failure, kind = excluded.kind,
        session_id = excluded.session_id, order_id = excluded.order_id, reference = excluded.reference,
        payment_method = excluded.payment_method, currency = excluded.currency,
        billing_profile_reference = excluded.billing_profile_reference,
        consent_text_version = excluded.consent_text_version, consent_locale = excluded.consent_locale,
        consent_at = excluded.consent_at, card_scheme = excluded.card_scheme,
        card_last_four = excluded.card_last_four, card_expiry = excluded.card_expiry,
        card_number_since = excluded.card_number_since, card_updated_at = excluded.card_updated_at,
        card_expiry_told_at = excluded.card_expiry_told_at, network_transaction_id = excluded.network_transaction_id,
        created_at = excluded.created_at, updated_at = excluded.updated_at, due_at = excluded.due_at
    WHERE contract.merchant_id = excluded.merchant_id AND contract.revision = excluded.revision - 1
    RETURNING id
), contracts AS MATERIALIZED (
    SELECT count(*) AS agreed FROM agreed
), begun AS (
    INSERT INTO purchase_order (
        id, merchant_id, session_id, merchant_reference, revision, state, under_review, shown, currency, total_minor,
        authorized_minor, captured_minor, capture_pending_minor, refunded_minor, refund_pending_minor, auto_capture,
        payment_method, created_at, updated_at, attempt_id, return_url, expires_at, page, transfer_reference,
        transfer_page, card_hash, card_last_four, contract_id
    )
    SELECT order_id, merchant_id, session_id, reference, revision, state, under_review, shown, currency, total, 0, 0,
        0, 0, 0, auto_capture, payment_method, created_at, updated_at, attempt_id, return_url, expires_at, page,
        transfer_reference, transfer_page, card_hash, card_last_four, contract_id
    FROM contracts, paying ORDER BY merchant_id, transfer_reference COLLATE "C" RETURNING id
), so_far AS MATERIALIZED (
    SELECT count(*) AS begun FROM begun
), keyed AS (
    INSERT INTO answer (merchant_id, digest, fingerprint, operation_id, created_at, expires_at)
    SELECT paying.merchant_id, paying.digest, paying.fingerprint, paying.operation_id, paying.key_from,
        paying.key_until
    FROM so_far, paying WHERE paying.digest IS NOT NULL ORDER BY paying.merchant_id, paying.digest
    RETURNING operation_id
), keys AS MATERIALIZED (
    SELECT count(*) AS taken FROM keyed
), used AS MATERIALIZED (
    SELECT paying.* FROM keys, paying WHERE paying.stash_id IS NOT NULL
    ORDER BY paying.merchant_id, paying.stash_id COLLATE "C", paying.browser COLLATE "C"
), card AS (
    DELETE FROM stash AS s
    USING used
    WHERE s.merchant_id = used.merchant_id
        AND s.stash_id = used.stash_id
        AND s.fingerprint = used.browser
        AND s.expires_at > used.now
        AND s.usable = used.usable
        AND s.scheme IS NOT DISTINCT FROM used.scheme
    RETURNING used.number, s.key_id, s.ciphertext
), checkouts AS (
    INSERT INTO checkout (order_id, merchant_id, document)
    SELECT order_id, merchant_id, checkout FROM paying WHERE checkout IS NOT NULL
), tries AS (
    INSERT INTO contract_try (order_id, contract_id, tried_at, result)
    SELECT order_id, contract_id, created_at, 'UNKNOWN' FROM paying WHERE contract_use = 'CHARGES'
), operations AS (
    INSERT INTO processor_op (
        id, order_id, kind, state, currency, amount_minor, authorization_id, refund_id, processor_reference,
        processor_id, channel, epoch, tries, due_at, created_at
    )
    SELECT next.id, next.order_id, next.kind, next.state, next.currency, next.minor, next.authorization_id,
        next.refund_id, next.reference, next.processor, next.channel, next.epoch, next.tries, next.due_at,
        next.created_at
    FROM unnest(
        $70::bigint[], $71::uuid[], $72::uuid[], $73::text[], $74::text[], $75::text[], $76::bigint[], $77::uuid[],
        $78::uuid[], $79::text[], $80::text[], $81::text[], $82::bigint[], $83::integer[], $84::timestamptz[],
        $85::timestamptz[]
    ) AS next (
        number, id, order_id, kind, state, currency, minor, authorization_id, refund_id, reference, processor,
        channel, epoch, tries, due_at, created_at
    )
    WHERE next.number = ANY ((SELECT array_agg(number) FROM paying)::bigint[])
), new_history AS (
    INSERT INTO history (
        merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at
    )
    SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what,
        step.state_before, step.state_after, step.happened_at
    FROM unnest(
        $86::bigint[], $87::uuid[], $88::text[], $89::uuid[], $90::text[], $91::text[], $92::text[], $93::text[],
        $94::text[], $95::timestamptz[]
    ) AS step (
        number, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after,
        happened_at
    )
    WHERE step.number = ANY ((SELECT array_agg(number) FROM paying)::bigint[])
), audited AS (
    INSERT INTO audit_log (
        id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id, value_before,
        value_after, happened_at
    )
    SELECT entry.id, entry.merchant_id, entry.actor_kind, entry.actor_name, entry.address, entry.note, entry.action,
        entry.subject_kind, entry.subject_id, entry.value_before, entry.value_after, entry.happened_at
    FROM unnest(
        $96::bigint[], $97::uuid[], $98::uuid[], $99::text[], $100::text[], $101::text[], $102::text[], $103::text[],
        $104::text[], $105::text[], $106::text[], $107::text[], $108::timestamptz[]
    ) AS entry (
        number, id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id,
        value_before, value_after, happened_at
    )
    WHERE entry.number = ANY ((SELECT array_agg(number) FROM paying)::bigint[]) AND 0 < cardinality($96::bigint[])
)
SELECT paying.number, card.key_id, card.ciphertext FROM paying
LEFT JOIN card ON card.number = paying.number
WHERE CASE WHEN (SELECT count(*) FROM card) = (SELECT count(stash_id) FROM paying)
    AND (SELECT agreed FROM contracts) = (SELECT count(contract_use) FROM paying) THEN TRUE
    ELSE dropin_again() IS NULL END;
