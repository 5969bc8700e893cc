//! The sorts of work that many callers want at once. On PostgreSQL each has a queue and threads of its own, whose statements serve whoever
//! waits at that moment; on SQLite it is done as every other step.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use dropin_ports::StoreError;

use crate::config::{OpenError, Target};
use crate::connection::AnyConnection;
use crate::create::Creation;
use crate::find::Search;
use crate::lane::{self, Kind, Queue, Step, Together};
use crate::outbox::{Claiming, Finishing};
use crate::payment::{Preparation, Settling};
use crate::stash::{Peek, Put};
use crate::store::{Store, spawn};
use crate::wake::Bell;

/// Threads, and so connections to PostgreSQL, for each sort: one sends while the other's statement runs. More would make the bunches smaller.
const THREADS: usize = 2;

/// One sort of work.
pub(crate) trait Sort: Together {
    /// Whether it may change something.
    const KIND: Kind;
    /// What its threads are called.
    const THREAD: &'static str;

    /// Where it waits.
    fn queue(sorts: &Sorts) -> &Arc<Queue<Step<Self>>>;
}

/// Declares the sorts with the names of their queues and threads.
macro_rules! sorts {
    ($($queue:ident: $work:ty, $kind:ident, $thread:literal;)*) => {
        /// A queue for each sort.
        #[derive(Default)]
        pub(crate) struct Sorts { $($queue: Arc<Queue<Step<$work>>>,)* }

        $(impl Sort for $work {
            const KIND: Kind = Kind::$kind;
            const THREAD: &'static str = $thread;

            fn queue(sorts: &Sorts) -> &Arc<Queue<Step<Self>>> {
                &sorts.$queue
            }
        })*

        impl Sorts {
            /// Starts the threads of all sorts. Each connects with its first step.
            pub(crate) fn start(
                &self,
                url: &str,
                deadline: Duration,
                bell: &Arc<Bell>,
                threads: &mut Vec<JoinHandle<()>>,
            ) -> Result<(), OpenError> {
                $(for _ in 0..THREADS {
                    let (queue, url, bell) = (self.$queue.clone(), url.to_owned(), bell.clone());
                    let serve = move || lane::serve_together(&queue, &url, deadline, &bell);
                    threads.push(spawn(<$work as Sort>::THREAD, serve)?);
                })*
                Ok(())
            }

            /// Lets nobody in any more; what waits is still done.
            pub(crate) fn close(&self) {
                $(self.$queue.close();)*
            }
        }
    };
}

sorts! {
    creations: Creation, Write, "dropin-store-new";
    searches: Search, Read, "dropin-store-get";
    peeks: Peek, Read, "dropin-store-see";
    preparations: Preparation, Write, "dropin-store-pre";
    settlements: Settling, Write, "dropin-store-set";
    puts: Put, Write, "dropin-store-put";
    claims: Claiming, Write, "dropin-store-due";
    finishes: Finishing, Write, "dropin-store-fin";
}

impl Store {
    /// Does it beside others of its sort.
    pub(crate) async fn beside_others<W: Sort>(&self, work: W) -> Result<W::Answer, StoreError> {
        match self.target() {
            Target::Postgres(_) => lane::run_one_of(W::queue(self.sorts()), self.timekeeper(), W::KIND, work).await,
            Target::Sqlite(_) => {
                let alone = move |connection: &mut AnyConnection| work.run(connection);
                lane::run(self.queue_of(W::KIND), self.timekeeper(), W::KIND, alone).await
            }
        }
    }
}
