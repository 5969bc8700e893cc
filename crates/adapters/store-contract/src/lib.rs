#![doc = include_str!("../README.md")]
#![deny(missing_docs)]
#![expect(clippy::unwrap_used, reason = "cases are tests: what is not there fails them")]

pub mod cases;
mod contract_steps;
mod harness;
mod steps;
mod values;
mod wakes;

pub use cases::velocity::any_decision;
pub use contract_steps::{charged, charging, new_contract, opening, sealed, stored};
pub use harness::{Harness, Raw, approval};
pub use steps::{checkout, checkout_approval, keyed_capture};
pub use values::{audit_entry, audited, fresh, insertable, insertable_with, new_key, new_merchant, replacement};
pub use wakes::each_change_that_tells_something_wakes;

/// Runs one case on an empty store, on a runtime with several threads.
pub fn run<C, F>(open: impl FnOnce() -> Harness, case: C)
where
    C: FnOnce(std::sync::Arc<Harness>) -> F,
    F: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let harness = std::sync::Arc::new(open());
    runtime.block_on(case(harness));
}

/// Writes one `#[test]` per case. `$open` is the path of a function that makes a [`Harness`] over an empty store.
#[macro_export]
macro_rules! all_cases {
    ($open:path) => {
        use $open as open_harness;
        $crate::all_cases! { @modules
            access {
                a_merchant_comes_back_whole
                a_user_name_is_taken_once
                merchants_are_listed_oldest_first
                what_does_not_exist_is_not_found
                a_merchant_is_set_in_parts
                screening_rules_are_kept_beside_a_merchant
                of_many_who_set_screening_rules_one_wins
                of_many_who_set_a_merchant_the_last_one_wins_whole
                of_many_who_set_a_merchant_as_they_saw_it_one_wins
                a_merchant_has_several_users
                a_password_retires_the_one_before
                a_revoked_user_stays_revoked
                endpoints_are_added_moved_and_removed
            }
            session {
                terms_come_back_equal
                the_smallest_session_comes_back_equal
                every_state_comes_back_equal
                instants_keep_their_microseconds
                a_reference_is_unique_per_merchant
                a_reference_is_never_freed
                a_session_that_is_written_already_is_done
                a_replacement_leaves_nothing_of_the_old_terms
                a_stale_change_writes_nothing
                only_created_sessions_are_replaced
                a_change_counts_its_revision_up_by_one
                a_reference_names_the_newest_profile
                expired_sessions_come_oldest_first
                another_merchant_finds_nothing
            }
            replacement {
                of_many_replacements_of_a_session_one_wins
                a_key_replaces_one_session
                replacements_and_submits_at_once_leave_one_winner_each
                a_replacement_that_is_refused_leaves_those_beside_it_alone
                a_reference_that_two_sessions_want_goes_to_one
                a_replacement_that_is_written_already_is_done
            }
            attempts {
                a_failed_attempt_leads_to_the_next
                an_attempt_id_is_used_once_per_session
                the_card_is_kept_while_it_is_tried_and_when_its_issuer_refused_it
                the_database_keeps_two_attempts_from_being_alive_or_paid
                money_of_a_failed_attempt_is_booked_with_its_refund
                of_many_attempts_one_is_paid
            }
            payment {
                an_authorization_is_prepared_whole
                a_stash_entry_is_consumed_once
                an_expired_stash_entry_is_missing
                a_missing_stash_entry_changes_nothing
                stale_wins_over_a_missing_stash_entry
                an_outcome_is_settled_whole
                settling_twice_is_harmless
                a_stale_settlement_undoes_everything
                an_open_outcome_stays_due
                an_order_is_hidden_until_it_is_shown
                captures_are_asked_for_and_settled
                one_capture_at_a_time
                settling_what_does_not_exist_is_refused
                an_outcome_moves_no_other_order
            }
            order {
                a_hosted_page_comes_back_whole
                every_member_of_an_order_comes_back
                a_change_of_an_order_is_written_whole
                a_change_that_is_stale_writes_nothing
                one_open_ending_at_a_time
                a_promised_capture_is_kept
                lapsed_orders_come_oldest_end_first
                an_order_is_found_by_its_reference
                order_details_tell_the_life_in_order
                any_order_is_found_for_those_who_may
                open_operations_are_counted_by_kind_and_state
            }
            refund {
                a_refund_is_begun_whole
                a_refund_reference_is_unique_per_order
                refunds_are_settled_with_their_order
                a_refund_that_failed_later_is_taken_back_once
                a_refund_stays_open_and_is_asked_for_again
                what_is_decided_on_no_refund_is_refused
                the_database_guards_the_refunds
            }
            dispute {
                a_dispute_is_written_with_its_order
                every_end_of_a_dispute_is_written
                a_stale_change_of_a_dispute_writes_nothing
                of_a_refund_and_a_dispute_the_second_counts_the_first
                an_answer_is_open_once_and_given_until_it_ends
                undecided_disputes_are_looked_at_in_turn
                disputes_are_listed_newest_first
                open_disputes_are_listed_and_counted
                a_list_of_disputes_is_read_on_by_one
                evidence_is_sealed_anew
                the_database_guards_the_disputes
                a_damaged_dispute_is_corrupt
            }
            checkout {
                a_checkout_is_prepared_whole
                open_transfers_of_a_merchant_never_share_a_reference
                a_checkout_pays_with_a_stashed_card
                an_order_that_is_taken_up_has_its_entry_in_the_audit_log
                a_reference_is_shared_by_sessions_and_checkouts
                a_repeat_of_a_checkout_is_known_by_its_key
                a_checkout_that_is_written_already_is_done_unless_its_card_went
                what_a_checkout_said_is_json
                whoever_waits_for_a_payment_waits_for_what_follows_it
            }
            operations {
                due_operations_are_claimed_oldest_first
                what_the_processor_accepted_lets_the_unknown_go_first
                a_lease_excludes_others_until_it_ends
                concurrent_claims_share_nothing
                a_late_holder_postpones_nothing
                open_operations_are_listed_oldest_first
                a_reference_is_kept_once_by_whoever_prepared_the_authorization
                what_follows_carries_the_reference_of_its_authorization
                what_follows_carries_the_processor_of_its_authorization
                what_is_open_and_held_by_nobody_is_made_due
            }
            race {
                of_many_cancels_one_wins
                of_replacement_and_submit_one_wins
                of_cancel_and_submit_one_wins
                of_many_submits_one_wins
                of_many_settlements_one_wins
                of_many_sessions_one_gets_the_reference
                of_many_captures_one_wins
                of_captures_and_voids_one_wins
                of_many_refunds_one_gets_the_last_money
                of_many_refunds_with_one_reference_one_wins
                of_many_checkouts_one_gets_the_reference
                of_many_outcomes_of_a_refund_one_wins
            }
            batches {
                payments_at_once_stay_apart
                refunds_at_once_stay_apart
            }
            checkouts_at_once {
                each_is_begun_whole_or_left_out
                each_gets_the_answer_of_its_own_operation
            }
            changes_at_once {
                each_change_is_written_whole_or_left_out
                each_request_gets_the_answer_of_its_own_operation
                settlements_that_tell_one_stream_count_on
            }
            append_only {
                sequences_are_dense_and_in_the_order_of_the_changes
                events_exist_without_an_endpoint
                an_event_that_exists_undoes_its_change
                history_tells_every_step
                what_is_written_stays_as_it_is
                the_ledger_sums_to_zero
                unbalanced_entries_are_refused
                the_database_guards_the_amounts
                the_database_guards_the_states
            }
            back_office {
                orders_come_newest_first_in_pages
                orders_fit_every_filter
                orders_are_found_by_what_they_are_named_by
                orders_are_found_by_the_end_of_a_card
                sessions_are_searched_like_orders
                orders_are_summed
                a_name_is_looked_for_among_the_merchants_meant
                addresses_fold_ascii_letters_alone
                a_search_goes_through_a_bounded_number_of_rows
                open_operations_are_listed_for_their_merchants
            }
            activity {
                whatever_becomes_of_an_order_shows
                held_orders_come_newest_first
                what_becomes_of_notifications_shows_at_their_merchant
                steps_of_the_history_show_at_their_merchant
            }
            idempotency {
                an_answer_is_kept_with_its_effect
                a_key_is_used_once
                a_key_that_is_over_is_free_again
                an_effect_that_is_undone_frees_its_key
                keys_of_merchants_are_apart
                a_capture_is_answered_when_its_outcome_is_written
                the_first_answer_to_a_capture_stays
                of_many_creates_with_one_key_one_wins
                of_many_captures_with_one_key_one_wins
                a_taker_waits_and_gets_a_key_that_is_freed
                purging_takes_what_is_over_only
                the_database_guards_the_answers
            }
            audit {
                records_are_read_whole_and_in_pages
                operations_are_found_by_their_keys
                all_that_is_kept_about_an_order_is_shown
                a_damaged_row_is_told_and_the_others_are_read
                a_transaction_that_does_not_sum_to_zero_is_named
                stuck_operations_are_counted
                stuck_operations_are_those_of_the_domain
                a_page_shows_one_state
            }
            wallet {
                an_identity_is_replaced_and_removed
                certificates_that_end_first_come_first
                a_domain_is_registered_checked_and_registered_anew
                domains_are_the_merchants_own
            }
            processor_account {
                rules_name_no_account_that_was_removed
                an_account_is_set_replaced_and_removed
                an_account_stays_who_it_is
                an_account_with_open_orders_is_not_removed
                a_removed_account_is_deleted_once_nothing_needs_it
                account_keys_are_listed_in_pages_and_sealed_anew
            }
            contract {
                a_contract_opens_with_its_payment
                a_settlement_of_a_contract_that_changed_is_stale
                an_auditor_finds_what_is_here_of_a_stored_card
                tries_are_kept_with_what_became_of_them
                of_charges_at_once_one_is_written
                a_credential_is_kept_until_it_is_deleted_at_its_processor
                a_credential_of_a_contract_that_nobody_may_charge_is_only_deleted
                a_replaced_credential_is_kept_aside_until_it_is_deleted
                contracts_of_a_profile_are_listed_oldest_first
                saved_cards_are_listed_by_their_last_use
                a_card_that_is_used_often_hides_no_other_use
                a_contract_is_due_when_its_card_ends
                what_a_session_opens_is_not_found_before_it_is_open
                the_database_refuses_what_the_domain_does
            }
            contracts_at_once {
                each_contract_is_changed_whole_or_not_at_all
            }
            sealed {
                sealed_values_of_every_kind_are_listed_in_pages
                stored_credentials_are_listed_in_pages_and_sealed_anew
                a_sealed_value_is_replaced_and_nothing_else
                a_change_of_the_merchants_wins_over_a_replacement
                of_many_replacements_of_a_sealed_value_one_wins
            }
            operators {
                the_first_operator_comes_by_a_link_of_nobody
                of_many_first_operators_one_comes
                an_operator_is_invited_and_accepts
                an_address_of_an_operator_is_taken_once
                of_many_who_accept_a_link_one_does
                rights_of_an_operator_are_replaced_whole
                the_last_owner_stays
                of_owners_who_shut_each_other_out_one_stays
                a_disabled_operator_comes_back_as_it_was
                a_reset_leaves_a_link_alone
                new_credentials_end_every_other_session
                authenticators_are_sealed_anew
                a_damaged_operator_is_corrupt
            }
            operator_sessions {
                a_session_is_opened_for_the_password_that_was_compared
                a_request_of_a_session_is_written_down
                a_code_and_the_ones_before_it_are_used_once
                of_many_who_use_a_factor_one_does
                wrong_codes_end_a_sign_in
                sessions_are_listed_and_ended_by_their_operator
            }
            money_requests {
                requests_are_counted_by_order_and_operator
                a_request_counts_unless_its_refund_failed
                open_requests_are_listed_oldest_first
                of_many_requests_decided_alike_one_is_written
                a_request_is_settled_once
                the_database_wants_a_second_operator
                approval_limits_are_replaced_whole
            }
            screening {
                a_try_is_decided_on_by_its_counts_and_that_is_kept
                a_count_that_comes_late_replaces_no_decision
                a_reason_of_another_release_stays_as_it_is
                an_alarm_is_raised_and_notified_once
                a_screening_comes_back_whole_to_its_merchant
                facts_go_after_their_time_and_the_decision_stays
                what_people_decided_labels_a_screening
            }
            velocity {
                a_try_counts_for_each_window_and_a_bucket_more
                every_key_is_counted_by_itself_with_amounts_and_cards
                what_an_older_key_of_the_ring_counted_counts
                an_order_is_counted_once
                a_session_is_counted_by_its_tries
                what_became_of_a_try_is_counted_in_its_order
                what_an_alarm_asks_for_is_no_decline_of_the_merchants
                payments_under_an_exemption_count_until_somebody_authenticates
                what_was_told_of_a_card_is_known_of_it_later
                counts_of_merchants_are_apart
                tries_at_once_each_hear_of_those_before
                who_has_paid_is_known_by_profile_or_browser
                the_sweep_deletes_only_what_is_over
                damaged_counts_begin_anew_and_those_of_a_newer_program_stay
            }
            stash {
                posts_at_once_are_all_there
                live_entries_are_counted_with_their_bytes
                an_entry_is_replaced_by_the_next
                an_entry_is_read_and_stays
                only_the_exact_key_finds_an_entry
                purging_takes_expired_entries_only
            }
            notifications {
                notifications_have_the_status_of_their_streams
                what_went_elsewhere_has_moved
                what_was_never_tried_and_went_elsewhere_is_listed
                what_was_tried_in_vain_and_is_not_wanted_has_not_moved
                what_was_passed_over_did_not_arrive
                a_list_goes_through_so_many_events_at_once
                of_very_many_that_wait_all_are_listed
                notifications_are_listed_by_what_they_are
                notifications_are_listed_by_their_status
                notifications_are_listed_in_pages
                a_notification_comes_with_its_tries_and_its_body
            }
            discarding {
                what_is_discarded_has_that_status
                what_was_discarded_goes_with_its_event
            }
            replays {
                what_is_asked_for_is_sent_in_order
                a_replay_is_handed_out_again_when_its_lease_ends
                what_waits_is_not_queued_twice
                what_waits_for_its_next_try_is_sent_at_once
                a_replay_is_foretold_as_it_comes
                what_was_given_back_unsent_holds_others_back
                of_many_who_ask_one_queues
                a_replay_that_fails_for_an_hour_lets_the_others_go
                what_is_asked_for_later_comes_behind
                replays_come_at_their_rate
                replays_are_only_for_endpoints_of_the_merchant
                what_nobody_wants_by_then_is_passed_over
                what_a_removed_endpoint_was_asked_to_get_is_parked
                replays_of_a_dead_endpoint_are_parked_one_by_one
            }
            retention {
                old_tries_are_deleted_by_age
                old_events_are_deleted_when_they_are_over
                a_try_that_is_old_and_at_an_old_event_counts_once
                who_asked_long_ago_is_forgotten
                a_payment_goes_on_after_its_events_were_deleted
                of_replays_and_deletions_at_once_no_stream_loses_its_event
            }
            backlog {
                what_waits_is_told_by_endpoint
                what_is_parked_and_sent_again_is_told
            }
            audit_log {
                an_act_and_its_entry_are_written_together
                an_orders_change_brings_its_entry
                an_entry_comes_back_whole
                the_log_is_searched_in_pages
                what_was_logged_cannot_be_changed
                seals_are_chained_by_merchant
                what_somebody_sealed_past_the_sealers_is_told
                of_many_sealers_one_seals
                what_is_done_past_the_log_shows
            }
            endpoint_status {
                endpoints_have_the_status_of_their_queues
                a_long_queue_is_counted_so_far_only
            }
            outbox {
                a_stream_is_claimed_by_one
                a_lease_that_ends_is_claimed_again
                every_endpoint_gets_its_turn
                full_endpoints_are_passed_over_and_no_try_is_counted
                an_idle_queue_has_no_due_time
                a_lease_that_ends_spends_no_try
                of_a_hundred_endpoints_none_waits_for_another
                a_claim_says_where_more_may_be_due
                what_is_asked_for_stands_back_for_what_is_new
                a_row_that_cannot_be_read_holds_up_no_other
                a_probe_takes_what_is_due_longest
                a_late_result_changes_nothing
                notifications_of_a_payment_come_in_order
                a_retry_waits_and_keeps_its_body
                a_dead_payment_holds_up_no_other
                a_failing_notification_holds_back_for_an_hour
                nothing_is_held_back_before_it_fails
                results_are_written_together
                a_try_that_is_held_does_not_count
                results_that_come_too_late_are_counted
                nothing_is_handed_out_without_a_lease
                tries_are_kept
                a_try_that_is_told_twice_is_kept_once
                what_was_given_back_unsent_has_not_failed
                unwanted_events_are_passed_over
                where_nothing_is_wanted_the_payment_is_idle
                the_filter_of_the_moment_counts
                a_long_row_of_unwanted_events_is_passed_over_at_once
                damage_of_one_endpoint_holds_up_no_other
                an_endpoint_has_its_own_schedule
                both_secrets_sign_while_one_retires
                an_endpoint_that_moves_takes_along_what_waits
                what_waits_for_a_removed_endpoint_is_parked
                a_removed_endpoint_is_told_nothing_new
                a_notification_says_what_kind_of_account_it_is_of
                what_was_queued_while_its_endpoint_was_removed_is_parked_by_the_claim
                what_waits_too_long_is_parked
                waiting_is_counted_from_the_first_try
                what_is_overdue_is_parked_in_steps
                a_parked_notification_can_be_replayed
                what_is_parked_again_replaces_what_was_parked
                what_a_removed_endpoint_was_to_get_again_is_parked_again
                workers_and_writers_lose_nothing_and_turn_nothing_round
            }
            event_log {
                events_are_read_as_they_are_sent
                events_of_another_merchant_are_not_read
                a_merchant_without_an_endpoint_reads_its_events
                an_event_that_commits_late_is_not_skipped
                every_event_is_read_once_while_others_write
                a_place_outlives_what_is_deleted
                a_page_of_large_bodies_is_short
            }
            rates {
                the_table_in_force_comes_back_whole
                of_many_checks_of_the_source_one_brings_a_table
                rate_settings_are_set_in_parts
                of_many_who_set_rates_none_is_lost
                of_many_who_set_rates_as_they_saw_them_one_wins
                offers_come_back_whole_and_stay
                of_many_who_make_offers_one_does
                an_order_tells_the_rate_of_its_sale
                a_refund_keeps_what_it_takes_from_the_settlement
            }
            damage {
                a_damaged_session_is_corrupt
                a_merchant_with_damaged_methods_is_corrupt
                a_damaged_order_is_corrupt
                a_damaged_account_for_a_transfer_is_corrupt
                a_damaged_refund_is_corrupt
                a_damaged_profile_is_corrupt
                a_damaged_merchant_is_corrupt
                a_damaged_user_is_corrupt
                a_damaged_endpoint_is_corrupt
                a_damaged_stash_entry_is_corrupt
                a_broken_stream_holds_up_no_other
            }
            health {
                an_open_store_is_ready
                a_schema_that_is_too_old_is_not_ready
                documents_of_a_later_version_are_read
                a_failing_step_leaves_its_neighbours_alone
            }
        }
    };
    (@modules $($module:ident { $($case:ident)+ })+) => {$(
        mod $module {
            $(
                #[test]
                fn $case() {
                    $crate::run(super::open_harness, $crate::cases::$module::$case);
                }
            )+
        }
    )+};
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// The text of every file in `folder` and in the folders below it.
    fn sources(folder: &Path) -> Vec<String> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let texts = |path: &Path| if path.is_dir() { sources(path) } else { vec![fs::read_to_string(path).unwrap()] };
        paths.flat_map(|path| texts(&path)).collect()
    }

    #[test]
    fn every_case_is_in_the_list() {
        let list = include_str!("lib.rs");
        let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cases"));
        assert!(20 < sources.len(), "this test looks in the wrong place");
        for source in sources {
            for line in source.lines().filter_map(|line| line.strip_prefix("pub async fn ")) {
                let name = line.split('(').next().unwrap();
                assert!(list.lines().any(|listed| listed.trim() == name), "{name} is not in all_cases!");
            }
        }
    }
}
