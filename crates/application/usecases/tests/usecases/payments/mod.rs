//! What follows when the processor, the merchant and time do what no sandbox does on purpose: other amounts, late answers, refusals for now.
//! The store is the real one; the processor says what each case scripts.

mod aftermath;
mod amounts;
mod attempts;
mod authorization_metrics;
mod card_testing;
mod counts;
mod crashes;
mod crossings;
mod deployment;
mod disputes;
mod endings;
mod exemptions;
mod fault;
mod guarantees;
mod import;
mod late_approvals;
mod late_counts;
mod model;
mod outside_score;
mod own_methods;
mod processor;
mod promises;
mod refused_cards;
mod saved_cards;
mod screening;
mod screening_reviews;
mod script;
mod shopping;
mod steps;
mod world;
