//! Which payment methods this deployment offers.

use clap::Args;
use dropin_access::ProcessorProfile;
use dropin_catalogue::{Catalogue, Method, find_method, methods};
use url::Url;

use crate::catalogue_file::{CatalogueFile, CatalogueFileArgs, UNIQUE};
use crate::config_error::ConfigError;
use crate::mode::Mode;
use crate::processor::{ProcessorArgs, ProcessorKind};
use crate::processor_file::FurtherProcessor;
use crate::public::is_this_machine;

/// What stands for the region in the address of the messaging script.
const REGION: &str = "{region}";

/// Payment methods.
#[derive(Debug, Clone, Args)]
pub struct CatalogueArgs {
    /// Ids of the payment methods that the processor can do, with commas between [default: those of the sandbox processor]
    #[arg(long, env = "PROCESSOR_METHODS", value_delimiter = ',', value_name = "ID")]
    pub processor_methods: Vec<String>,
    /// Address of the pay-later provider's messaging script; {region} in it becomes eu, na or oc [default: the sandbox processor's; none in
    /// production]
    #[arg(long, env = "PAY_LATER_SCRIPT_URL", value_name = "URL")]
    pub pay_later_script_url: Option<String>,
}

impl CatalogueArgs {
    /// The same for a processor of this kind: what it can do, where nobody says otherwise.
    #[must_use]
    pub fn of_processor(mut self, kind: ProcessorKind) -> Self {
        if self.processor_methods.is_empty() {
            self.processor_methods = kind.default_methods().iter().map(|id| (*id).to_owned()).collect();
        }
        self
    }

    /// The same with what further processors can do besides.
    #[must_use]
    pub fn with_further(mut self, others: &[FurtherProcessor]) -> Self {
        if self.processor_methods.is_empty() && !others.is_empty() {
            let of_sandbox = methods().filter(|method| method.is_in_sandbox());
            self.processor_methods = of_sandbox.map(|method| method.id().to_owned()).collect();
        }
        for id in others.iter().filter_map(|other| other.profile.methods.as_ref()).flatten() {
            if !self.processor_methods.contains(id) {
                self.processor_methods.push(id.clone());
            }
        }
        self
    }

    /// What the deployment's processors take, the main one first, by which payments are routed.
    pub fn profiles(&self, main: &ProcessorArgs, others: &[FurtherProcessor]) -> Vec<ProcessorProfile> {
        let methods = self.clone().of_processor(main.processor).processor_methods;
        let methods = (!methods.is_empty()).then_some(methods);
        let main = ProcessorProfile { id: main.id(), methods, currencies: None };
        std::iter::once(main).chain(others.iter().map(|other| other.profile.clone())).collect()
    }

    /// The catalogue. Of the methods that the file adds, those that the processor is said to do are offered; the others are known.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read or makes no sense, or the processor is said to do a method that there is not.
    pub fn open(&self, file: &CatalogueFileArgs) -> Result<Catalogue, ConfigError> {
        let CatalogueFile { adjustments, own } = file.read()?;
        let listed = self.processor_methods.as_slice();
        let is_known = |id: &str| find_method(id).is_some() || own.iter().any(|method| method.id() == id);
        if let Some(id) = listed.iter().find(|id| !is_known(id)) {
            let mut known: Vec<&str> = methods().map(Method::id).collect();
            known.extend(own.iter().map(Method::id));
            return Err(ConfigError::ProcessorMethod { id: id.clone(), known: known.join(", ") });
        }
        let is_listed = |method: &Method| listed.iter().any(|id| id == method.id());
        let can = |method: &Method| if listed.is_empty() { method.is_in_sandbox() } else { is_listed(method) };
        let (offered, known): (Vec<_>, Vec<_>) = own.into_iter().partition(is_listed);
        let catalogue = Catalogue::new(can, &adjustments).with(offered);
        Ok(catalogue.and_then(|catalogue| catalogue.with_known(known)).expect(UNIQUE))
    }

    /// Where the pay-later provider's messaging script is, with `{region}` in it. `sandbox` is the sandbox processor's public address, if that is the
    /// processor.
    ///
    /// # Errors
    /// [`ConfigError::Script`], [`ConfigError::PlainHttp`].
    pub fn pay_later_script(&self, mode: Mode, sandbox: Option<&str>) -> Result<Option<String>, ConfigError> {
        let Some(text) = &self.pay_later_script_url else {
            let ours = |sandbox: &str| format!("{}/onsite/{REGION}/script.js", sandbox.trim_end_matches('/'));
            return Ok(sandbox.filter(|_| mode == Mode::Sandbox).map(ours));
        };
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
        match Url::parse(&text.replace(REGION, "eu")) {
            Ok(url) if mode == Mode::Production && url.scheme() == "http" && !is_this_machine(&url) => {
                Err(ConfigError::PlainHttp { name: "pay_later_script_url" })
            }
            Ok(url) if is_web(&url) => Ok(Some(text.clone())),
            _ => Err(ConfigError::Script),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::catalogue_file::tests::{OWN, file};

    #[derive(Debug, Parser)]
    struct Demo {
        #[command(flatten)]
        catalogue: CatalogueArgs,
    }

    fn read(line: &str) -> Result<CatalogueArgs, clap::Error> {
        Demo::try_parse_from(line.split(' ')).map(|demo| demo.catalogue)
    }

    #[test]
    fn the_processor_can_do_what_is_listed_and_else_what_the_sandbox_can() {
        let offers = |line: &str| {
            let catalogue = read(line).unwrap().open(&CatalogueFileArgs::default()).unwrap();
            methods().map(Method::id).filter(|id| catalogue.has(id)).collect::<Vec<_>>()
        };
        assert_eq!(offers("demo").len(), 13);
        assert_eq!(offers("demo --processor-methods MC,BLIK,VISA"), ["VISA", "MC", "BLIK"]);
        let unknown = read("demo --processor-methods VISA,CASH")
            .unwrap()
            .open(&CatalogueFileArgs::default())
            .unwrap_err()
            .to_string();
        assert!(unknown.contains("names CASH") && unknown.contains("one of VISA, MC"), "{unknown}");
    }

    #[test]
    fn a_processor_offers_what_it_can_do_unless_others_are_named() {
        let of = |line: &str| {
            let args = read(line).unwrap().of_processor(ProcessorKind::Stripe);
            assert_eq!(args.pay_later_script(Mode::Sandbox, None).unwrap(), None);
            let catalogue = args.open(&CatalogueFileArgs::default()).unwrap();
            methods().map(Method::id).filter(|id| catalogue.has(id)).collect::<Vec<_>>()
        };
        assert_eq!(of("demo"), ProcessorKind::Stripe.default_methods());
        assert_eq!(of("demo --processor-methods VISA,IDEAL"), ["VISA", "IDEAL"]);
    }

    #[test]
    fn a_method_that_the_file_adds_is_offered_when_the_processor_can_do_it() {
        let (path, _file) = file("own", OWN);
        let own = CatalogueFileArgs { catalogue: Some(path) };
        let open = |line: &str| read(line).unwrap().open(&own);
        let listed = open("demo --processor-methods VISA,TIKKIE").unwrap();
        assert!(listed.has("TIKKIE") && listed.has("VISA") && !listed.has("PAYPAL"));
        for line in ["demo --processor-methods VISA", "demo --processor-methods MC,BLIK", "demo"] {
            let without = open(line).unwrap();
            assert!(!without.has("TIKKIE"), "{line}: the processor cannot do it");
            assert!(without.payment_rules("TIKKIE").partial_capture(), "{line}: payments by it may still be there");
        }
        let unknown = open("demo --processor-methods VISA,CASH").unwrap_err().to_string();
        assert!(unknown.contains("names CASH") && unknown.contains("TIKKIE"), "{unknown}");
    }

    #[test]
    fn the_messaging_script_is_the_sandboxs_until_somebody_names_another() {
        let script = |line: &str, mode| read(line).unwrap().pay_later_script(mode, Some("http://s/sandbox/"));
        assert_eq!(
            script("demo", Mode::Sandbox).unwrap().as_deref(),
            Some("http://s/sandbox/onsite/{region}/script.js")
        );
        assert_eq!(script("demo", Mode::Production).unwrap(), None);
        let own = "demo --pay-later-script-url https://{region}.later.example/v1/lib.js";
        assert_eq!(script(own, Mode::Production).unwrap().as_deref(), Some("https://{region}.later.example/v1/lib.js"));
        for wrong in ["later.example", "ftp://later.example/{region}", "javascript:alert(1)"] {
            assert!(script(&format!("demo --pay-later-script-url {wrong}"), Mode::Production).is_err(), "{wrong}");
        }
    }
}
