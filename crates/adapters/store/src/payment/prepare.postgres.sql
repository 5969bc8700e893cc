-- Begins Orders, and tells which by their numbers, each with the card that was stashed for it. One whose Session or
-- stash entry is not as it was when that was decided, or whose reference, key or open transfer's reference was used
-- before, is left out, also when a Session changes at the same moment. An entry or a key that does fails the whole.
--
-- Everybody takes the reference first, then the Session, the Order, the key, and the stash entry last, which any
-- number may ask for; references and keys in their own order, Sessions in that of their ids, Orders in that of their
-- transfers' references, and entries in that of their keys. Each part reads what the one before it returned, so that
-- PostgreSQL keeps to that.
--
-- $1 to $38, input_row: An Order that is begun, the Session that it pays or what the checkout said, the key of the
-- request, and the stash entry that it uses up; `number` names it in the other rows.
-- $39 to $54, next: An operation to be written down; `number` says for whom.
-- $55 to $64, step: A step for the history; `number` names the batched row that it belongs to.
-- $65 to $77, entry: An entry of the audit log; `number` names the batched row that it belongs to.

WITH input_row AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::text[], $7::uuid[], $8::timestamptz[],
        $9::uuid[], $10::text[], $11::bigint[], $12::text[], $13::boolean[], $14::boolean[], $15::text[],
        $16::bigint[], $17::boolean[], $18::text[], $19::timestamptz[], $20::timestamptz[], $21::text[],
        $22::timestamptz[], $23::text[], $24::text[], $25::text[], $26::bytea[], $27::text[], $28::jsonb[],
        $29::uuid[], $30::bytea[], $31::bytea[], $32::timestamptz[], $33::timestamptz[], $34::text[], $35::text[],
        $36::text[], $37::boolean[], $38::timestamptz[]
    ) AS input_row (
        number, session_id, merchant_id, expected, session_revision, session_state, attempt_id, session_updated_at,
        order_id, reference, revision, state, under_review, shown, currency, total, auto_capture, payment_method,
        created_at, updated_at, return_url, expires_at, page, transfer_reference, transfer_page, card_hash,
        card_last_four, checkout, operation_id, digest, fingerprint, key_from, key_until, stash_id, browser, scheme,
        usable, now
    )
), ready AS MATERIALIZED (
    SELECT * FROM input_row
    WHERE input_row.expected IS NOT DISTINCT FROM (
        SELECT s.revision FROM session AS s
        WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id
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
), begun AS (
    INSERT INTO purchase_order (
        id, merchant_id, session_id, merchant_reference, revision, state, under_review, shown, currency, total_minor,
        authorized_minor, captured_minor, capture_pending_minor, refunded_minor, refund_pending_minor, auto_capture,
        payment_method, created_at, updated_at, attempt_id, return_url, expires_at, page, transfer_reference,
        transfer_page, card_hash, card_last_four
    )
    SELECT order_id, merchant_id, session_id, reference, revision, state, under_review, shown, currency, total, 0, 0,
        0, 0, 0, auto_capture, payment_method, created_at, updated_at, attempt_id, return_url, expires_at, page,
        transfer_reference, transfer_page, card_hash, card_last_four
    FROM paying ORDER BY merchant_id, transfer_reference COLLATE "C" RETURNING id
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
), operations AS (
    INSERT INTO processor_op (
        id, order_id, kind, state, currency, amount_minor, authorization_id, refund_id, processor_reference,
        processor_id, channel, epoch, tries, due_at, created_at
    )
    SELECT next.id, next.order_id, next.kind, next.state, next.currency, next.minor, next.authorization_id,
        next.refund_id, next.reference, next.processor, next.channel, next.epoch, next.tries, next.due_at,
        next.created_at
    FROM unnest(
        $39::bigint[], $40::uuid[], $41::uuid[], $42::text[], $43::text[], $44::text[], $45::bigint[], $46::uuid[],
        $47::uuid[], $48::text[], $49::text[], $50::text[], $51::bigint[], $52::integer[], $53::timestamptz[],
        $54::timestamptz[]
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
        $55::bigint[], $56::uuid[], $57::text[], $58::uuid[], $59::text[], $60::text[], $61::text[], $62::text[],
        $63::text[], $64::timestamptz[]
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
        $65::bigint[], $66::uuid[], $67::uuid[], $68::text[], $69::text[], $70::text[], $71::text[], $72::text[],
        $73::text[], $74::text[], $75::text[], $76::text[], $77::timestamptz[]
    ) AS entry (
        number, id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id,
        value_before, value_after, happened_at
    )
    WHERE entry.number = ANY ((SELECT array_agg(number) FROM paying)::bigint[])
)
SELECT paying.number, card.key_id, card.ciphertext FROM paying
LEFT JOIN card ON card.number = paying.number
WHERE CASE WHEN (SELECT count(*) FROM card) = (SELECT count(stash_id) FROM paying) THEN TRUE
    ELSE dropin_again() IS NULL END;
