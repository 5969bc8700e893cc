-- What the admin panel looks for: Orders and Sessions by time, those that wait for a review, and by what a shopper or merchant names them by.
CREATE INDEX purchase_order_by_time ON purchase_order (created_at, id);
CREATE INDEX purchase_order_by_merchant ON purchase_order (merchant_id, created_at, id);
CREATE INDEX purchase_order_under_review ON purchase_order (created_at, id) WHERE under_review;
CREATE INDEX session_by_time ON session (created_at, id);
CREATE INDEX session_by_merchant ON session (merchant_id, created_at, id);
CREATE INDEX session_by_profile ON session (billing_profile_id);
CREATE INDEX billing_profile_by_email ON billing_profile (lower(json_extract(details, '$.email')));
CREATE INDEX checkout_by_email ON checkout (lower(json_extract(document, '$.Consumer.Email')));
CREATE INDEX merchant_reference_by_text ON merchant_reference (reference);
