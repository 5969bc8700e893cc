-- Settles operations, or begins captures, voids and refunds, and tells which by their numbers. One that is not as it was
-- when that was decided is left out; one that changes at the same moment fails the whole, since what follows from it
-- may be written by then.
--
-- Everybody locks in this order: operations, Orders, Sessions, contracts, keys, streams (by endpoint and stream);
-- contracts in the order of their ids, keys in their own, and what comes before them in that of the Orders, which is
-- why no batch has outcomes and requests. Each part reads what the one before it returned, so that PostgreSQL keeps to
-- that. A refund is changed by whoever has locked its Order, a try by whoever has locked its contract, and the key of
-- an operation by whoever has locked that. A credential is also claimed to be deleted and sealed anew without its
-- contract: it is locked before it is read.
--
-- Rows that most batches have none of are read only where there are any: each column would cost the others time.
--
-- CASE hides the open states from the planner: analyzed while few operations were open, it reads all open ones
-- through the partial index `processor_op_due` instead of one by its key. Keys are found by a list and not by a join
-- for the same reason: it would read all that wait.
--
-- $1 to $50, input_row: An operation's outcome, or a request without one, with what becomes of its Order, Session and
-- refund, the contract that changes with them, and what becomes of the key that waits for it; `number` names it in the
-- other rows.
-- $51 to $57, key_row: The key of a request, answered when the outcome of the operation is known; `number` names the
-- batched row that it belongs to.
-- $58 to $85, contract_row: A contract that is opened, or as it is after a change; `number` names the batched row
-- that it belongs to.
-- $86 to $90, credential_row: What becomes of a contract's credential: STORE, REPLACE, DISCARD (one that is only to
-- be deleted) or DELETE; `number` names the batched row that it belongs to.
-- $91 to $95, try_row: What is known of a charge; without a result the issuer was never asked. `number` names the
-- batched row that it belongs to.
-- $96 to $108, beginning: A refund that is begun.
-- $109 to $124, next: An operation to be written down; `number` says for whom.
-- $125 to $135, posting: A ledger transaction; `number` names the batched row that it belongs to.
-- $136 to $145, step: A step for the history; `number` names the batched row that it belongs to.
-- $146 to $158, entry: An entry of the audit log; `number` names the batched row that it belongs to.
-- $159 to $166, event_row: An event for the outbox; `number` names the batched row that it belongs to, and `ordinal`
-- gives the order of all.

WITH input_row AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::uuid[], $3::text[], $4::timestamptz[], $5::uuid[], $6::uuid[], $7::bigint[], $8::bigint[],
        $9::text[], $10::boolean[], $11::boolean[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
        $16::bigint[], $17::timestamptz[], $18::timestamptz[], $19::text[], $20::jsonb[], $21::text[], $22::bigint[],
        $23::text[], $24::bytea[], $25::text[], $26::uuid[], $27::bigint[], $28::bigint[], $29::text[], $30::uuid[],
        $31::uuid[], $32::text[], $33::text[], $34::timestamptz[], $35::integer[], $36::uuid[], $37::text[],
        $38::uuid[], $39::bigint[], $40::uuid[], $41::text[], $42::text[], $43::bigint[], $44::bigint[],
        $45::timestamptz[], $46::text[], $47::uuid[], $48::integer[], $49::text[], $50::bytea[]
    ) AS input_row (
        number, operation_id, operation_state, look_at, order_id, merchant_id, expected, revision, state,
        under_review, shown, authorized, captured, capture_pending, refunded, refund_pending, updated_at, expires_at,
        page, bank_details, voiding, capture_promised, failure, card_hash, card_last_four, session_id,
        session_expected, session_revision, session_state, session_order_id, attempt_id, cancel_reason,
        failure_reason, session_updated_at, attempts_failed, last_attempt_id, last_failure, contract_id,
        contract_expected, refund_id, refund_state, refund_currency, refund_minor, refund_settlement,
        refund_updated_at, new_refund, next_awaited, status, etag, body
    )
), key_row AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $51::bigint[], $52::uuid[], $53::bytea[], $54::bytea[], $55::uuid[], $56::timestamptz[], $57::timestamptz[]
    ) AS key_row (
        number, merchant_id, digest, fingerprint, operation_id, created_at, expires_at
    )
), ready AS MATERIALIZED (
    SELECT * FROM input_row
    WHERE (
        input_row.operation_id IS NULL
        OR (
            SELECT CASE WHEN op.state IN ('PREPARED', 'UNKNOWN', 'PENDING') THEN TRUE END FROM processor_op AS op
            WHERE op.id = input_row.operation_id AND op.order_id = input_row.order_id
        )
    )
        AND input_row.expected = (
            SELECT o.revision FROM purchase_order AS o
            WHERE o.id = input_row.order_id AND o.merchant_id = input_row.merchant_id
        )
        AND input_row.session_expected IS NOT DISTINCT FROM (
            SELECT s.revision FROM session AS s
            WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id
        )
        AND input_row.contract_expected IS NOT DISTINCT FROM (
            SELECT c.revision FROM contract AS c
            WHERE c.id = input_row.contract_id AND c.merchant_id = input_row.merchant_id
        )
        AND (
            input_row.refund_id IS NULL
            OR (
                SELECT r.state = 'IN_PROGRESS' AND r.order_id = input_row.order_id
                    AND r.currency = input_row.refund_currency
                FROM refund AS r WHERE r.id = input_row.refund_id
            )
        )
        AND (
            input_row.new_refund IS NULL
            OR (
                SELECT TRUE FROM refund AS r
                WHERE r.order_id = input_row.order_id AND r.reference = input_row.new_refund
            ) IS NULL
        )
        AND (
            SELECT TRUE FROM key_row
            JOIN answer AS a ON a.merchant_id = key_row.merchant_id AND a.digest = key_row.digest
            WHERE key_row.number = input_row.number
        ) IS NULL
), closed AS (
    UPDATE processor_op AS op SET state = ready.operation_state, due_at = ready.look_at
    FROM ready
    WHERE op.id = ready.operation_id AND CASE WHEN op.state IN ('PREPARED', 'UNKNOWN', 'PENDING') THEN TRUE END
    RETURNING ready.*
), allowed AS MATERIALIZED (
    SELECT * FROM closed
    UNION ALL
    SELECT * FROM ready WHERE ready.operation_id IS NULL
), changed AS (
    UPDATE purchase_order AS o
    SET revision = allowed.revision, state = allowed.state, under_review = allowed.under_review, shown = allowed.shown,
        authorized_minor = allowed.authorized, captured_minor = allowed.captured,
        capture_pending_minor = allowed.capture_pending, refunded_minor = allowed.refunded,
        refund_pending_minor = allowed.refund_pending, updated_at = allowed.updated_at, expires_at = allowed.expires_at,
        page = allowed.page, failure = allowed.failure, card_hash = allowed.card_hash,
        card_last_four = allowed.card_last_four, bank_details = allowed.bank_details, voiding = allowed.voiding,
        capture_promised_minor = allowed.capture_promised
    FROM allowed WHERE o.id = allowed.order_id AND o.merchant_id = allowed.merchant_id AND o.revision = allowed.expected
    RETURNING allowed.*
), moved AS (
    UPDATE session AS s
    SET revision = changed.session_revision, state = changed.session_state, order_id = changed.session_order_id,
        attempt_id = changed.attempt_id, cancel_reason = changed.cancel_reason,
        failure_reason = changed.failure_reason, updated_at = changed.session_updated_at,
        attempts_failed = changed.attempts_failed, last_attempt_id = changed.last_attempt_id,
        last_failure = changed.last_failure
    FROM changed
    WHERE s.id = changed.session_id AND s.merchant_id = changed.merchant_id AND s.revision = changed.session_expected
    RETURNING changed.number
), decided AS (
    UPDATE refund AS r
    SET state = changed.refund_state, amount_minor = changed.refund_minor,
        settlement_minor = changed.refund_settlement, updated_at = changed.refund_updated_at
    FROM changed WHERE r.id = changed.refund_id AND r.state = 'IN_PROGRESS' RETURNING changed.number
), orders AS MATERIALIZED (
    SELECT array_agg(number) AS numbers, (SELECT count(*) FROM moved) AS moved,
        (SELECT count(*) FROM decided) AS decided
    FROM changed
), agreed AS (
    UPDATE contract AS c
    SET revision = agreement.revision, state = agreement.state, suspend_reason = agreement.suspend_reason,
        close_reason = agreement.close_reason, failure = agreement.failure, kind = agreement.kind,
        session_id = agreement.session_id, order_id = agreement.order_id, reference = agreement.reference,
        payment_method = agreement.payment_method, currency = agreement.currency,
        billing_profile_reference = agreement.billing_profile_reference,
        consent_text_version = agreement.consent_text_version, consent_locale = agreement.consent_locale,
        consent_at = agreement.consent_at, card_scheme = agreement.card_scheme,
        card_last_four = agreement.card_last_four, card_expiry = agreement.card_expiry,
        card_number_since = agreement.card_number_since, card_updated_at = agreement.card_updated_at,
        card_expiry_told_at = agreement.card_expiry_told_at,
        network_transaction_id = agreement.network_transaction_id, created_at = agreement.created_at,
        updated_at = agreement.updated_at, due_at = agreement.due_at
    FROM (
        SELECT contract_row.*
        FROM orders, unnest(
            $58::bigint[], $59::uuid[], $60::uuid[], $61::bigint[], $62::text[], $63::text[], $64::text[],
            $65::text[], $66::text[], $67::uuid[], $68::uuid[], $69::text[], $70::text[], $71::text[], $72::text[],
            $73::text[], $74::text[], $75::timestamptz[], $76::text[], $77::text[], $78::text[], $79::timestamptz[],
            $80::timestamptz[], $81::timestamptz[], $82::text[], $83::timestamptz[], $84::timestamptz[],
            $85::timestamptz[]
        ) AS contract_row (
            number, id, merchant_id, revision, state, suspend_reason, close_reason, failure, kind, session_id,
            order_id, reference, payment_method, currency, billing_profile_reference, consent_text_version,
            consent_locale, consent_at, card_scheme, card_last_four, card_expiry, card_number_since, card_updated_at,
            card_expiry_told_at, network_transaction_id, created_at, updated_at, due_at
        )
        WHERE contract_row.number = ANY (orders.numbers) AND 0 < cardinality($58::bigint[]) ORDER BY contract_row.id
    ) AS agreement
    WHERE c.id = agreement.id AND c.merchant_id = agreement.merchant_id AND c.revision = agreement.revision - 1
    RETURNING c.id
), done AS MATERIALIZED (
    SELECT numbers, moved, decided, (SELECT count(*) FROM agreed) AS agreed FROM orders
), credential AS MATERIALIZED (
    SELECT ready.contract_id, ready.merchant_id, ready.order_id, credential_row.change, credential_row.key_id,
        credential_row.sealed, credential_row.at
    FROM done, ready
    JOIN unnest(
        $86::bigint[], $87::text[], $88::text[], $89::bytea[], $90::timestamptz[]
    ) AS credential_row (
        number, change, key_id, sealed, at
    ) ON credential_row.number = ready.number
    WHERE ready.number = ANY (done.numbers) AND 0 < cardinality($86::bigint[])
), stored AS MATERIALIZED (
    SELECT s.* FROM credential
    JOIN contract_credential AS s ON s.contract_id = credential.contract_id
    FOR UPDATE OF s
), discarded AS (
    INSERT INTO discarded_credential (order_id, contract_id, merchant_id, key_id, sealed, delete_at)
    SELECT coalesce(
        stored.order_id, (
            SELECT o.id FROM purchase_order AS o WHERE o.contract_id = stored.contract_id
            ORDER BY o.created_at, o.id LIMIT 1
        )
    ), credential.contract_id, credential.merchant_id, stored.key_id, stored.sealed, credential.at
    FROM credential
    JOIN stored ON stored.contract_id = credential.contract_id
    WHERE credential.change = 'REPLACE'
    UNION ALL
    SELECT order_id, contract_id, merchant_id, key_id, sealed, at FROM credential WHERE change = 'DISCARD'
), kept AS (
    INSERT INTO contract_credential (contract_id, merchant_id, key_id, sealed, order_id, delete_at)
    SELECT credential.contract_id, credential.merchant_id, coalesce(credential.key_id, stored.key_id),
        coalesce(credential.sealed, stored.sealed),
        CASE WHEN stored.contract_id IS NULL OR credential.change = 'REPLACE' THEN credential.order_id
        ELSE stored.order_id END,
        CASE WHEN credential.change = 'DELETE' THEN coalesce(stored.delete_at, credential.at) END
    FROM credential
    LEFT JOIN stored ON stored.contract_id = credential.contract_id
    WHERE credential.change IN ('STORE', 'REPLACE')
        OR credential.change = 'DELETE' AND stored.contract_id IS NOT NULL
    ON CONFLICT (contract_id) DO UPDATE
    SET key_id = excluded.key_id, sealed = excluded.sealed, order_id = excluded.order_id,
        delete_at = excluded.delete_at
), tried AS MATERIALIZED (
    SELECT try_row.*
    FROM done, unnest(
        $91::bigint[], $92::uuid[], $93::text[], $94::text[], $95::bigint[]
    ) AS try_row (
        number, order_id, result, category, asked_wait_micros
    )
    WHERE try_row.number = ANY (done.numbers) AND 0 < cardinality($91::bigint[])
), concluded AS (
    UPDATE contract_try AS t
    SET result = tried.result, category = tried.category, asked_wait_micros = tried.asked_wait_micros
    FROM tried WHERE t.order_id = tried.order_id AND tried.result IS NOT NULL
), unasked AS (
    DELETE FROM contract_try AS t
    USING tried
    WHERE t.order_id = tried.order_id AND tried.result IS NULL
), begun AS (
    INSERT INTO refund (
        id, order_id, merchant_id, reference, currency, amount_minor, description, state, created_at, updated_at,
        settlement_currency, settlement_minor
    )
    SELECT beginning.id, beginning.order_id, beginning.merchant_id, beginning.reference, beginning.currency,
        beginning.minor, beginning.description, beginning.state, beginning.created_at, beginning.updated_at,
        beginning.settlement_currency, beginning.settlement
    FROM done, unnest(
        $96::bigint[], $97::uuid[], $98::uuid[], $99::uuid[], $100::text[], $101::text[], $102::bigint[], $103::text[],
        $104::text[], $105::timestamptz[], $106::timestamptz[], $107::text[], $108::bigint[]
    ) AS beginning (
        number, id, order_id, merchant_id, reference, currency, minor, description, state, created_at, updated_at,
        settlement_currency, settlement
    )
    WHERE beginning.number = ANY (done.numbers) AND 0 < cardinality($96::bigint[])
), followed AS (
    INSERT INTO processor_op (
        id, order_id, kind, state, currency, amount_minor, authorization_id, refund_id, processor_reference,
        processor_id, channel, epoch, tries, due_at, created_at
    )
    SELECT next.id, next.order_id, next.kind, next.state, next.currency, next.minor, next.authorization_id,
        next.refund_id, next.reference, next.processor, next.channel, next.epoch, next.tries, next.due_at,
        next.created_at
    FROM done, unnest(
        $109::bigint[], $110::uuid[], $111::uuid[], $112::text[], $113::text[], $114::text[], $115::bigint[],
        $116::uuid[], $117::uuid[], $118::text[], $119::text[], $120::text[], $121::bigint[], $122::integer[],
        $123::timestamptz[], $124::timestamptz[]
    ) AS next (
        number, id, order_id, kind, state, currency, minor, authorization_id, refund_id, reference, processor,
        channel, epoch, tries, due_at, created_at
    )
    WHERE next.number = ANY (done.numbers) AND 0 < cardinality($109::bigint[])
), posted AS (
    INSERT INTO ledger_posting (
        id, order_id, currency, shopper_minor, authorized_minor, captured_minor, refunded_minor, disputed_minor,
        charged_back_minor, posted_at
    )
    SELECT posting.id, posting.order_id, posting.currency, posting.shopper, posting.authorized, posting.captured,
        posting.refunded, posting.disputed, posting.charged_back, posting.posted_at
    FROM done, unnest(
        $125::bigint[], $126::uuid[], $127::uuid[], $128::text[], $129::bigint[], $130::bigint[], $131::bigint[],
        $132::bigint[], $133::bigint[], $134::bigint[], $135::timestamptz[]
    ) AS posting (
        number, id, order_id, currency, shopper, authorized, captured, refunded, disputed, charged_back, posted_at
    )
    WHERE posting.number = ANY (done.numbers)
), new_history AS (
    INSERT INTO history (
        merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at
    )
    SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what,
        step.state_before, step.state_after, step.happened_at
    FROM done, unnest(
        $136::bigint[], $137::uuid[], $138::text[], $139::uuid[], $140::text[], $141::text[], $142::text[],
        $143::text[], $144::text[], $145::timestamptz[]
    ) AS step (
        number, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after,
        happened_at
    )
    WHERE step.number = ANY (done.numbers)
), audited AS (
    INSERT INTO audit_log (
        id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id, value_before,
        value_after, happened_at
    )
    SELECT entry.id, entry.merchant_id, entry.actor_kind, entry.actor_name, entry.address, entry.note, entry.action,
        entry.subject_kind, entry.subject_id, entry.value_before, entry.value_after, entry.happened_at
    FROM done, unnest(
        $146::bigint[], $147::uuid[], $148::uuid[], $149::text[], $150::text[], $151::text[], $152::text[],
        $153::text[], $154::text[], $155::text[], $156::text[], $157::text[], $158::timestamptz[]
    ) AS entry (
        number, id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id,
        value_before, value_after, happened_at
    )
    WHERE entry.number = ANY (done.numbers) AND 0 < cardinality($146::bigint[])
), answered AS (
    UPDATE answer AS a
    SET (operation_id, status, etag, body) = (
        SELECT coalesce(ready.next_awaited, ready.operation_id), ready.status, ready.etag, ready.body FROM ready
        WHERE ready.operation_id = a.operation_id
    )
    WHERE a.status IS NULL
        AND a.operation_id = ANY (
            (
                SELECT array_agg(ready.operation_id) FROM done, ready
                WHERE ready.number = ANY (done.numbers)
                    AND (ready.next_awaited IS NOT NULL OR ready.status IS NOT NULL)
            )::uuid[]
        )
), keyed AS (
    INSERT INTO answer (merchant_id, digest, fingerprint, operation_id, created_at, expires_at)
    SELECT key_row.merchant_id, key_row.digest, key_row.fingerprint, key_row.operation_id, key_row.created_at,
        key_row.expires_at
    FROM done, key_row WHERE key_row.number = ANY (done.numbers) ORDER BY key_row.merchant_id, key_row.digest
    RETURNING operation_id
), keys AS MATERIALIZED (
    SELECT done.numbers, (SELECT count(*) FROM keyed) AS taken FROM done
), event AS MATERIALIZED (
    SELECT event_row.*, row_number() OVER (
        PARTITION BY event_row.payment_id
        ORDER BY event_row.ordinal
    ) AS place
    FROM keys, unnest(
        $159::bigint[], $160::bigint[], $161::uuid[], $162::uuid[], $163::uuid[], $164::text[], $165::bytea[],
        $166::timestamptz[]
    ) AS event_row (
        number, ordinal, payment_id, merchant_id, event_id, event_type, body, happened_at
    )
    WHERE event_row.number = ANY (keys.numbers)
), so_far AS MATERIALIZED (
    SELECT event.payment_id, event.merchant_id, count(*) AS event_count, min(event.happened_at) AS first_event_at,
        coalesce(
            (
                SELECT e.sequence FROM outbox_event AS e WHERE e.payment_id = event.payment_id
                ORDER BY e.sequence DESC LIMIT 1
            ), 0
        ) AS last
    FROM event GROUP BY event.payment_id, event.merchant_id
), appended AS (
    INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at)
    SELECT event.payment_id, so_far.last + event.place, event.event_id, event.merchant_id, event.event_type,
        convert_to('{"Sequence":' || (so_far.last + event.place) || ',', 'UTF8') || substring(event.body FROM 2),
        event.happened_at
    FROM so_far
    JOIN event ON event.payment_id = so_far.payment_id AND event.merchant_id = so_far.merchant_id
    ORDER BY event.payment_id, event.place
), queued AS (
    INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at)
    SELECT endpoint.id, so_far.payment_id, FALSE, so_far.last + 1, so_far.last + so_far.event_count, 0,
        so_far.first_event_at
    FROM so_far
    JOIN endpoint ON endpoint.merchant_id = so_far.merchant_id AND endpoint.removed_at IS NULL
    ORDER BY endpoint.id, (
        SELECT s.id FROM outbox_stream AS s
        WHERE s.endpoint_id = endpoint.id AND s.payment_id = so_far.payment_id AND NOT s.detached
    ), so_far.payment_id
    ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE
    SET last_sequence = excluded.last_sequence,
        due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence
            THEN greatest(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END
)
SELECT unnest(
    CASE WHEN coalesce(cardinality(done.numbers), 0) = (SELECT count(*) FROM ready)
        AND done.moved = (SELECT count(session_id) FROM ready)
        AND done.decided = (SELECT count(refund_id) FROM ready)
        AND done.agreed = (SELECT count(contract_id) FROM ready) THEN done.numbers
    ELSE dropin_again() END
)
FROM done;
