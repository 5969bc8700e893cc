#![doc = include_str!("../README.md")]
#![deny(missing_docs)]
#![expect(clippy::unwrap_used, reason = "cases are tests: what is not there fails them")]

mod asking;
pub mod cases;
mod harness;
mod proxy;

pub use harness::{Choice, Exceptions, ProcessorHarness, ProcessorStep, run};
pub use proxy::{FaultProxy, ProxyFault};

/// Writes one `#[test]` per case. `$open` is an async function that starts a processor and gives a boxed [`ProcessorHarness`] for it; `$exceptions` are the cases
/// that it cannot pass, each with the reason.
#[macro_export]
macro_rules! all_cases {
    ($open:path, except $exceptions:expr) => {
        $crate::all_cases! { @modules $open, $exceptions;
            cards {
                a_card_is_authorized_and_captured_whole
                a_part_is_captured_and_the_rest_released
                declines_say_why
                a_yes_tells_where_a_card_is_from_and_how_it_is_funded
                a_challenge_is_decided_on_its_page
                a_challenge_that_is_asked_for_is_shown
                an_exemption_that_the_issuer_refuses_leads_to_the_page
                without_a_way_back_nobody_is_challenged
                a_currency_without_decimals_is_charged_exactly
            }
            endings {
                a_void_releases_what_was_reserved
                a_void_ends_a_page_that_waits
                several_refunds_are_made_of_one_capture
                a_key_has_one_effect
            }
            pages {
                a_hosted_page_is_paid
                a_hosted_page_is_cancelled
                a_page_that_is_given_up_can_no_longer_be_paid
            }
            recovery {
                what_was_never_asked_is_absent
                what_was_abandoned_refuses_a_late_arrival
                an_answer_that_is_lost_is_found_by_its_key
                a_request_that_is_lost_did_nothing
                a_request_that_arrives_after_it_was_abandoned_does_nothing
                a_request_that_arrives_twice_has_one_effect
                an_error_after_the_work_is_unknown
                garbage_is_no_outcome
                a_limit_of_calls_is_no_outcome
            }
            stored {
                a_card_is_stored_with_a_payment_and_charged_by_the_merchant
                a_card_is_verified_and_stored_for_nothing
                a_stored_card_that_needs_the_shopper_says_so
                a_deleted_card_is_charged_no_more
            }
        }
    };
    (@modules $open:path, $exceptions:expr; $($module:ident { $($case:ident)+ })+) => {
        $($(
            #[test]
            fn $case() {
                $crate::run(stringify!($case), &$exceptions, async {
                    $crate::cases::$module::$case(&*$open().await).await;
                });
            }
        )+)+

        #[test]
        fn every_exception_is_a_case_with_a_reason() {
            let cases = [$($(stringify!($case)),+),+];
            for (case, reason) in $exceptions {
                assert!(cases.contains(&case) && reason.len() > 20, "{case}: {reason}");
            }
        }
    };
}
