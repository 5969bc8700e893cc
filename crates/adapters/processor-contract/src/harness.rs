use actix_web::rt::System;
use async_trait::async_trait;
use dropin_ports::Processor;

use crate::proxy::FaultProxy;

/// The cases that an adapter cannot pass, each with the reason.
pub type Exceptions<const N: usize> = [(&'static str, &'static str); N];

/// What a shopper does on a page of the processor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Authenticates, or pays.
    Pay,
    /// Fails to authenticate.
    Fail,
    /// Leaves without paying.
    Cancel,
}

/// What an adapter asks its processor for over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorStep {
    /// To reserve money.
    Authorize,
    /// To take it.
    Capture,
    /// To release it.
    Void,
    /// To give it back.
    Refund,
    /// What became of something.
    Status,
}

impl ProcessorStep {
    /// Every step.
    pub const ALL: [Self; 5] = [Self::Authorize, Self::Capture, Self::Void, Self::Refund, Self::Status];
}

/// An adapter, the processor that it asks, and the proxy between the two.
#[async_trait(?Send)]
pub trait ProcessorHarness {
    /// The adapter; its address is the proxy's, and it waits two seconds for an answer.
    fn processor(&self) -> &dyn Processor;

    /// The proxy.
    fn proxy(&self) -> &FaultProxy;

    /// Tells requests by which `step` is done from others, by their first lines.
    fn lines(&self, step: ProcessorStep) -> fn(&str) -> bool;

    /// The method of the catalogue without a card whose page is paid or cancelled.
    fn page_method(&self) -> &'static str;

    /// Opens a page and does this there; of a page that is closed nothing comes.
    async fn press(&self, page: &str, choice: Choice);
}

/// Runs a case, unless it is one that the adapter cannot pass.
pub fn run(name: &str, exceptions: &[(&'static str, &'static str)], case: impl Future<Output = ()>) {
    match exceptions.iter().find(|(except, _reason)| *except == name) {
        Some((_name, reason)) => println!("{name} does not apply: {reason}"),
        None => System::new().block_on(case),
    }
}
