-- Appends steps, in their order, and what the audit log says of them.
--
-- $1 to $13, entry: An entry of the audit log; `number` names the batched row that it belongs to.
-- $14 to $23, step: A step for the history; `number` names the batched row that it belongs to.

WITH audited AS (
    INSERT INTO audit_log (
        id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id, value_before,
        value_after, happened_at
    )
    SELECT entry.id, entry.merchant_id, entry.actor_kind, entry.actor_name, entry.address, entry.note, entry.action,
        entry.subject_kind, entry.subject_id, entry.value_before, entry.value_after, entry.happened_at
    FROM unnest(
        $1::bigint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
        $10::text[], $11::text[], $12::text[], $13::timestamptz[]
    ) AS entry (
        number, id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id,
        value_before, value_after, happened_at
    )
)
INSERT INTO history (
    merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at
)
SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what,
    step.state_before, step.state_after, step.happened_at
FROM unnest(
    $14::bigint[], $15::uuid[], $16::text[], $17::uuid[], $18::text[], $19::text[], $20::text[], $21::text[],
    $22::text[], $23::timestamptz[]
) AS step (
    number, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after,
    happened_at
);
