//! `dropin dispute …`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use dropin_boot::{Failure, SystemClock, SystemIds};
use dropin_kernel::{DisputeId, MerchantId, OrderId};
use dropin_keyring::{MasterKey, MasterKeyError};
use dropin_order::{Dispute, Evidence, EvidenceFile, EvidenceMedia};
use dropin_ports::{AnsweredDispute, DisputeFilter, DisputeResponse, DisputeWithOrder};
use dropin_store::Store;
use dropin_usecases::audit_log::MerchantAct;
use dropin_usecases::disputes::{DisputeError, DisputeProcessor, Disputes};
use serde_json::{Value, json};

use super::{Cli, Output, acting, say, say_lines};

#[derive(Debug, Subcommand)]
pub(crate) enum DisputeCommand {
    /// Show disputes of all merchants, newest first
    List(ListDisputes),
    /// Show a dispute
    Show {
        /// DisputeId
        id: DisputeId,
        #[command(flatten)]
        output: Output,
    },
    /// Accept a dispute for its merchant: its money stays with the shopper
    Accept {
        /// DisputeId
        id: DisputeId,
        #[command(flatten)]
        output: Output,
    },
    /// Hand in evidence for its merchant, once
    Evidence(HandIn),
}

#[derive(Debug, Args)]
pub(crate) struct ListDisputes {
    /// Only those of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<MerchantId>,
    /// Only those of this Order
    #[arg(long, value_name = "ID")]
    order: Option<OrderId>,
    /// Only those that are not decided
    #[arg(long)]
    open: bool,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Only those older than this one, to go on behind a page
    #[arg(long, value_name = "ID")]
    before: Option<DisputeId>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct HandIn {
    /// DisputeId
    id: DisputeId,
    /// What there is to say, at most 20,000 characters
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    text: Option<String>,
    /// A file: .pdf, .jpg, .png or .txt; several are given one by one, 2 MiB together
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &DisputeCommand) -> Result<(), Failure> {
    match command {
        DisputeCommand::List(wanted) => list(cli, store, wanted).await,
        DisputeCommand::Show { id, output } => {
            let found = find(&disputes(cli, store)?, *id).await?;
            let pending = found.open_answer.as_ref().map(|answer| answer.kind.as_str());
            if output.json {
                let mut shown = of(&found.dispute);
                shown["AnswerPending"] = pending.is_some().into();
                return say(&shown.to_string());
            }
            let mut lines = in_words(&found.dispute);
            lines.extend(pending.map(|kind| format!("Answer        {kind}, on its way to the processor")));
            say(&lines.join("\n"))
        }
        DisputeCommand::Accept { id, output } => {
            let answered = answer(cli, store, *id, DisputeResponse::Accept).await?;
            tell(&answered, "Accepted: the money stays with the shopper", *output)
        }
        DisputeCommand::Evidence(wanted) => {
            let evidence = wanted.evidence()?;
            let answered = answer(cli, store, wanted.id, DisputeResponse::Evidence(evidence)).await?;
            tell(&answered, "Handed in", wanted.output)
        }
    }
}

/// Answers a dispute in the name of whoever runs the command. The settler tells the processor.
pub(super) async fn answer(
    cli: &Cli,
    store: &Store,
    id: DisputeId,
    response: DisputeResponse,
) -> Result<AnsweredDispute, Failure> {
    let disputes = disputes(cli, store)?;
    let DisputeWithOrder { order, .. } = find(&disputes, id).await?;
    let act = MerchantAct { merchant: order.merchant_id, by: acting(cli)? };
    let answered = disputes.answer(&act, order.id, id, response).await;
    answered.map_err(|error| match error {
        DisputeError::Store(error) => error.into(),
        other => format!("{other}; `dropin dispute show {id}` shows how it stands").into(),
    })
}

/// The disputes of this deployment. This program has no processor: what is answered here the settler hands on.
fn disputes(cli: &Cli, store: &Store) -> Result<Disputes, Failure> {
    let folder = cli.keys.folder(&cli.store.data);
    let secrets = MasterKey::open(&folder)?.ok_or(MasterKeyError::Elsewhere(folder))?;
    let store = Arc::new(store.clone());
    Ok(Disputes {
        store: store.clone(),
        orders: store,
        processors: Arc::<Vec<DisputeProcessor>>::default(),
        secrets: Arc::new(secrets),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        unreadable: Arc::default(),
    })
}

async fn find(disputes: &Disputes, id: DisputeId) -> Result<DisputeWithOrder, Failure> {
    let found = disputes.find(id).await?;
    found.ok_or_else(|| format!("there is no dispute {id} here; `dropin dispute list` names them").into())
}

async fn list(cli: &Cli, store: &Store, wanted: &ListDisputes) -> Result<(), Failure> {
    let ListDisputes { merchant, order, open, limit, before, output } = wanted;
    let filter = DisputeFilter { merchant: *merchant, order: *order, only_open: *open, before: *before };
    let found = disputes(cli, store)?.list(filter, *limit).await?;
    if output.json {
        return say(&Value::from_iter(found.iter().map(of)).to_string());
    }
    let lines = found.iter().map(|dispute| {
        let Dispute { id, order_id, amount, state, reason, due_at, .. } = dispute;
        let due = due_at.filter(|_| !state.is_final()).map(|due| format!("  due {due}")).unwrap_or_default();
        format!("{id}  {state:<14}  {amount:#}  {reason}  Order {order_id}{due}")
    });
    say_lines(lines, "There are no disputes.")
}

fn tell(answered: &AnsweredDispute, done: &str, output: Output) -> Result<(), Failure> {
    if output.json {
        let mut shown = of(&answered.dispute);
        shown["AnswerPending"] = answered.is_pending.into();
        return say(&shown.to_string());
    }
    let state = answered.dispute.state;
    say(&match answered.is_pending {
        true => format!(
            "{done}. The settler tells the processor within seconds; `dropin dispute show {}` shows what came of it.",
            answered.dispute.id
        ),
        false => format!("{done}. The dispute is {state}."),
    })
}

fn in_words(dispute: &Dispute) -> Vec<String> {
    let mut lines = vec![
        format!("Dispute       {}", dispute.id),
        format!("Order         {}", dispute.order_id),
        format!("Merchant      {}", dispute.merchant_id),
        format!("State         {}", dispute.state),
        format!("Reason        {}", dispute.reason),
        format!("Amount        {:#}", dispute.amount),
        format!("Processor     {}, its reference {}", dispute.processor, dispute.reference),
        format!("Created       {}", dispute.created_at),
        format!("Changed       {}", dispute.updated_at),
    ];
    lines.extend(dispute.due_at.map(|due| format!("Due           {due}")));
    lines
}

fn of(dispute: &Dispute) -> Value {
    json!({
        "DisputeId": dispute.id.to_string(),
        "OrderId": dispute.order_id.to_string(),
        "MerchantId": dispute.merchant_id.to_string(),
        "State": dispute.state.as_str(),
        "Reason": dispute.reason.as_str(),
        "Amount": dispute.amount.to_string(),
        "Currency": dispute.amount.currency().code(),
        "DueAt": dispute.due_at.map(|due| due.to_string()),
        "Processor": dispute.processor.as_str(),
        "ProcessorReference": dispute.reference,
        "CreatedAt": dispute.created_at.to_string(),
        "UpdatedAt": dispute.updated_at.to_string(),
    })
}

impl HandIn {
    fn evidence(&self) -> Result<Evidence, Failure> {
        let files = self.file.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
        Evidence::new(self.text.clone(), files).map_err(|all| all.to_string().into())
    }
}

fn read(path: &Path) -> Result<EvidenceFile, Failure> {
    let shown = path.display();
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| format!("{shown} names no file"))?;
    let media =
        media(path).ok_or_else(|| format!("{shown} is no .pdf, .jpg, .png or .txt: other files are not taken"))?;
    let length = std::fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?.len();
    if u64::try_from(Evidence::MAX_FILE_BYTES).is_ok_and(|most| most < length) {
        return Err(format!("{shown} is larger than 2 MiB").into());
    }
    let content = std::fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
    Ok(EvidenceFile { name: name.to_owned(), media, content })
}

fn media(path: &Path) -> Option<EvidenceMedia> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "pdf" => Some(EvidenceMedia::Pdf),
        "jpg" | "jpeg" => Some(EvidenceMedia::Jpeg),
        "png" => Some(EvidenceMedia::Png),
        "txt" => Some(EvidenceMedia::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_says() {
        for (name, media) in [
            ("a.PDF", Some(EvidenceMedia::Pdf)),
            ("a.jpeg", Some(EvidenceMedia::Jpeg)),
            ("a.b.png", Some(EvidenceMedia::Png)),
            ("a.txt", Some(EvidenceMedia::Text)),
            ("a.exe", None),
            ("pdf", None),
        ] {
            assert_eq!(super::media(Path::new(name)), media, "{name}");
        }
    }

    #[test]
    fn evidence_is_read_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipt.txt");
        std::fs::write(&path, "paid").unwrap();
        let file = read(&path).unwrap();
        assert_eq!(
            (file.name.as_str(), file.media, &*file.content),
            ("receipt.txt", EvidenceMedia::Text, &b"paid"[..])
        );
        assert!(read(&folder.path().join("none.txt")).is_err());
        std::fs::write(&path, vec![b'x'; Evidence::MAX_FILE_BYTES + 1]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("2 MiB"));
    }
}
