-- Settles operations, and tells which by their numbers. One that is not as it was when that was decided is left out;
-- one that changes at the same moment fails the whole, since what follows from it may be written by then.
--
-- Everybody locks in this order: operations, Orders, Sessions, streams (by endpoint and stream); these each in the
-- order of the Orders. Each part reads what the one before it returned, so that PostgreSQL keeps to that. A refund is
-- changed by whoever has locked its Order, and the key of an operation by whoever has locked that.
--
-- CASE hides the open states from the planner: analyzed while few operations were open, it reads all open ones
-- through the partial index `processor_op_due` instead of one by its key. Keys are found by a list and not by a join
-- for the same reason: it would read all that wait.
--
-- $1 to $51, input_row: An operation's outcome, with what becomes of its Order, Session and refund, and of the key
-- that waits for it; `number` names it in the other rows.
-- $52 to $64, beginning: A refund that is begun.
-- $65 to $80, next: An operation to be written down; `number` says for whom.
-- $81 to $91, posting: A ledger transaction; `number` names the batched row that it belongs to.
-- $92 to $101, step: A step for the history; `number` names the batched row that it belongs to.
-- $102 to $114, entry: An entry of the audit log; `number` names the batched row that it belongs to.
-- $115 to $120, event: An event for the outbox; `ordinal` counts from one within its settlement.

WITH input_row AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::uuid[], $3::text[], $4::timestamptz[], $5::uuid[], $6::uuid[], $7::bigint[], $8::bigint[],
        $9::text[], $10::boolean[], $11::boolean[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
        $16::bigint[], $17::timestamptz[], $18::timestamptz[], $19::text[], $20::jsonb[], $21::text[], $22::bigint[],
        $23::text[], $24::bytea[], $25::text[], $26::uuid[], $27::bigint[], $28::bigint[], $29::text[], $30::uuid[],
        $31::uuid[], $32::text[], $33::text[], $34::timestamptz[], $35::integer[], $36::uuid[], $37::text[],
        $38::uuid[], $39::text[], $40::text[], $41::bigint[], $42::bigint[], $43::timestamptz[], $44::text[],
        $45::uuid[], $46::bigint[], $47::timestamptz[], $48::uuid[], $49::integer[], $50::text[], $51::bytea[]
    ) AS input_row (
        number, operation_id, operation_state, look_at, order_id, merchant_id, expected, revision, state,
        under_review, shown, authorized, captured, capture_pending, refunded, refund_pending, updated_at, expires_at,
        page, bank_details, voiding, capture_promised, failure, card_hash, card_last_four, session_id,
        session_expected, session_revision, session_state, session_order_id, attempt_id, cancel_reason,
        failure_reason, session_updated_at, attempts_failed, last_attempt_id, last_failure, refund_id, refund_state,
        refund_currency, refund_minor, refund_settlement, refund_updated_at, new_refund, payment_id, event_count,
        first_event_at, next_awaited, status, etag, body
    )
), ready AS MATERIALIZED (
    SELECT * FROM input_row
    WHERE (
        SELECT CASE WHEN op.state IN ('PREPARED', 'UNKNOWN', 'PENDING') THEN TRUE END FROM processor_op AS op
        WHERE op.id = input_row.operation_id AND op.order_id = input_row.order_id
    )
        AND input_row.expected = (
            SELECT o.revision FROM purchase_order AS o
            WHERE o.id = input_row.order_id AND o.merchant_id = input_row.merchant_id
        )
        AND input_row.session_expected IS NOT DISTINCT FROM (
            SELECT s.revision FROM session AS s
            WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id
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
), closed AS (
    UPDATE processor_op AS op SET state = ready.operation_state, due_at = ready.look_at
    FROM ready
    WHERE op.id = ready.operation_id AND CASE WHEN op.state IN ('PREPARED', 'UNKNOWN', 'PENDING') THEN TRUE END
    RETURNING ready.*
), changed AS (
    UPDATE purchase_order AS o
    SET revision = closed.revision, state = closed.state, under_review = closed.under_review, shown = closed.shown,
        authorized_minor = closed.authorized, captured_minor = closed.captured,
        capture_pending_minor = closed.capture_pending, refunded_minor = closed.refunded,
        refund_pending_minor = closed.refund_pending, updated_at = closed.updated_at, expires_at = closed.expires_at,
        page = closed.page, failure = closed.failure, card_hash = closed.card_hash,
        card_last_four = closed.card_last_four, bank_details = closed.bank_details, voiding = closed.voiding,
        capture_promised_minor = closed.capture_promised
    FROM closed WHERE o.id = closed.order_id AND o.merchant_id = closed.merchant_id AND o.revision = closed.expected
    RETURNING closed.*
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
), done AS MATERIALIZED (
    SELECT array_agg(number) AS numbers, (SELECT count(*) FROM moved) AS moved,
        (SELECT count(*) FROM decided) AS decided
    FROM changed
), begun AS (
    INSERT INTO refund (
        id, order_id, merchant_id, reference, currency, amount_minor, description, state, created_at, updated_at,
        settlement_currency, settlement_minor
    )
    SELECT beginning.id, beginning.order_id, beginning.merchant_id, beginning.reference, beginning.currency,
        beginning.minor, beginning.description, beginning.state, beginning.created_at, beginning.updated_at,
        beginning.settlement_currency, beginning.settlement
    FROM done, unnest(
        $52::bigint[], $53::uuid[], $54::uuid[], $55::uuid[], $56::text[], $57::text[], $58::bigint[], $59::text[],
        $60::text[], $61::timestamptz[], $62::timestamptz[], $63::text[], $64::bigint[]
    ) AS beginning (
        number, id, order_id, merchant_id, reference, currency, minor, description, state, created_at, updated_at,
        settlement_currency, settlement
    )
    WHERE beginning.number = ANY (done.numbers)
), followed AS (
    INSERT INTO processor_op (
        id, order_id, kind, state, currency, amount_minor, authorization_id, refund_id, processor_reference,
        processor_id, channel, epoch, tries, due_at, created_at
    )
    SELECT next.id, next.order_id, next.kind, next.state, next.currency, next.minor, next.authorization_id,
        next.refund_id, next.reference, next.processor, next.channel, next.epoch, next.tries, next.due_at,
        next.created_at
    FROM done, unnest(
        $65::bigint[], $66::uuid[], $67::uuid[], $68::text[], $69::text[], $70::text[], $71::bigint[], $72::uuid[],
        $73::uuid[], $74::text[], $75::text[], $76::text[], $77::bigint[], $78::integer[], $79::timestamptz[],
        $80::timestamptz[]
    ) AS next (
        number, id, order_id, kind, state, currency, minor, authorization_id, refund_id, reference, processor,
        channel, epoch, tries, due_at, created_at
    )
    WHERE next.number = ANY (done.numbers)
), posted AS (
    INSERT INTO ledger_posting (
        id, order_id, currency, shopper_minor, authorized_minor, captured_minor, refunded_minor, disputed_minor,
        charged_back_minor, posted_at
    )
    SELECT posting.id, posting.order_id, posting.currency, posting.shopper, posting.authorized, posting.captured,
        posting.refunded, posting.disputed, posting.charged_back, posting.posted_at
    FROM done, unnest(
        $81::bigint[], $82::uuid[], $83::uuid[], $84::text[], $85::bigint[], $86::bigint[], $87::bigint[],
        $88::bigint[], $89::bigint[], $90::bigint[], $91::timestamptz[]
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
        $92::bigint[], $93::uuid[], $94::text[], $95::uuid[], $96::text[], $97::text[], $98::text[], $99::text[],
        $100::text[], $101::timestamptz[]
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
        $102::bigint[], $103::uuid[], $104::uuid[], $105::text[], $106::text[], $107::text[], $108::text[],
        $109::text[], $110::text[], $111::text[], $112::text[], $113::text[], $114::timestamptz[]
    ) AS entry (
        number, id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id,
        value_before, value_after, happened_at
    )
    WHERE entry.number = ANY (done.numbers)
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
), so_far AS MATERIALIZED (
    SELECT ready.number, ready.payment_id, ready.merchant_id, ready.event_count, ready.first_event_at, coalesce(
        (
            SELECT e.sequence FROM outbox_event AS e WHERE e.payment_id = ready.payment_id
            ORDER BY e.sequence DESC LIMIT 1
        ), 0
    ) AS last
    FROM done, ready WHERE ready.payment_id IS NOT NULL AND ready.number = ANY (done.numbers)
), appended AS (
    INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at)
    SELECT so_far.payment_id, so_far.last + event.ordinal, event.event_id, so_far.merchant_id, event.event_type,
        convert_to('{"Sequence":' || (so_far.last + event.ordinal) || ',', 'UTF8') || substring(event.body FROM 2),
        event.happened_at
    FROM so_far
    JOIN unnest($115::bigint[], $116::bigint[], $117::uuid[], $118::text[], $119::bytea[], $120::timestamptz[]) AS
        event (number, ordinal, event_id, event_type, body, happened_at)
        ON event.number = so_far.number
), queued AS (
    INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at)
    SELECT endpoint.id, so_far.payment_id, FALSE, so_far.last + 1, so_far.last + so_far.event_count, 0,
        so_far.first_event_at
    FROM so_far
    JOIN endpoint ON endpoint.merchant_id = so_far.merchant_id AND endpoint.removed_at IS NULL
    ORDER BY endpoint.id, (
        SELECT s.id FROM outbox_stream AS s
        WHERE s.endpoint_id = endpoint.id AND s.payment_id = so_far.payment_id AND NOT s.detached
    ), so_far.number
    ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE
    SET last_sequence = excluded.last_sequence,
        due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence
            THEN greatest(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END
)
SELECT unnest(
    CASE WHEN coalesce(cardinality(done.numbers), 0) = (SELECT count(*) FROM ready)
        AND done.moved = (SELECT count(session_id) FROM ready)
        AND done.decided = (SELECT count(refund_id) FROM ready) THEN done.numbers
    ELSE dropin_again() END
)
FROM done;
