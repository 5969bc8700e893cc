-- Appends steps, in their order.
--
-- $1 to $10, step: A step for the history; `number` names the batched row that it belongs to.

INSERT INTO history (
    merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at
)
SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what,
    step.state_before, step.state_after, step.happened_at
FROM unnest(
    $1::bigint[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::timestamptz[]
) AS step (
    number, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after,
    happened_at
);
