-- One link for the first operator at a time. Of several, the one that ends last stays.
DELETE FROM operator_invitation WHERE operator_id IS NULL AND EXISTS (
    SELECT 1 FROM operator_invitation AS other WHERE other.operator_id IS NULL
        AND (other.expires_at, other.token_hash) > (operator_invitation.expires_at, operator_invitation.token_hash)
);
CREATE UNIQUE INDEX operator_invitation_first_key ON operator_invitation ((operator_id IS NULL)) WHERE operator_id IS NULL;
