use std::time::Duration;

use tempfile::TempDir;

use super::program::Program;
use super::topology::{STOP, free_ports};
use crate::http::Http;
use crate::wait::until;

/// `dropin` as a newcomer starts it, with its demo merchant and shop.
pub struct Demo {
    /// Address of the shop.
    pub shop: String,
    program: Program,
    _folder: TempDir,
}

impl Demo {
    /// Starts it on free ports with a data folder of its own.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [listen, shop] = free_ports();
        let command = ["dropin", "--listen", &listen, "--shop-listen", &shop, "--admin-listen", "127.0.0.1:0"]
            .map(str::to_owned)
            .to_vec();
        let environment = vec![("DROPIN_DATA".to_owned(), folder.path().display().to_string())];
        let program = Program::start("dropin", command, environment, folder.path());
        let mut demo =
            Self { shop: format!("http://{}", shop.replace("127.0.0.1", "localhost")), program, _folder: folder };
        let (http, url) = (Http::default(), format!("http://{shop}/icon.svg"));
        until("the shop answers", Duration::from_secs(20), async || {
            demo.program.must_run();
            http.send(actix_web::http::Method::GET, &url, &[], Vec::new()).await.ok()
        })
        .await;
        demo
    }

    /// The value of a line that it printed at its start.
    pub fn shown(&self, name: &str) -> String {
        let said = self.program.logged();
        let line = said.lines().find_map(|line| line.trim_start().strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} is not in\n{said}")).trim().to_owned()
    }

    /// The one-time link for the first operator of the admin panel.
    pub fn first_operator(&self) -> String {
        self.shown("Admin panel");
        let said = self.program.logged();
        let link = said.lines().map(str::trim).find(|line| line.contains("/accept?token="));
        link.unwrap_or_else(|| panic!("there is no link in\n{said}")).to_owned()
    }

    /// Memory that the process took for itself, in KiB: without its code, whose size is that of an unoptimised build here.
    pub fn private_memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.program.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux tells");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Stops it gracefully.
    pub async fn finish(mut self) {
        self.program.stop(STOP).await;
    }
}
