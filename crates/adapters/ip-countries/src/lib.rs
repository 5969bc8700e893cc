#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use dropin_ports::IpCountries;
use dropin_validation::Country;
use maxminddb::{LookupResult, MaxMindDbError, Reader, path};

/// Largest file that is read; the largest that are published have half of it. All of it is kept in memory.
const MAX_BYTES: u64 = 1 << 30;

type Database = Reader<Vec<u8>>;

/// Why a file tells no countries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IpCountryFileError {
    /// The file system refused.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It has more than 1 GiB.
    #[error("{0} has more than 1 GiB, which no database of countries has: name another file")]
    TooLarge(PathBuf),
    /// It is in another format, or incomplete.
    #[error(
        "{path} is no complete file of the MaxMind DB format ({why}): download it again, and unpack it if it is packed"
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It is about something else, such as networks.
    #[error(
        "{path} is a database {database_type:?} that names no country (country.iso_code): use one of countries or cities"
    )]
    NoCountries {
        /// The file.
        path: PathBuf,
        /// What it says that it is.
        database_type: String,
    },
}

/// A file of networks and their countries.
#[derive(Debug)]
pub struct IpCountryFile {
    path: PathBuf,
    database: RwLock<Database>,
}

impl IpCountryFile {
    /// Reads and verifies the whole file.
    ///
    /// # Errors
    /// [`IpCountryFileError`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, IpCountryFileError> {
        let path = path.into();
        let database = RwLock::new(read(&path)?);
        Ok(Self { path, database })
    }

    /// Reads the file again and takes it over.
    ///
    /// # Errors
    /// [`IpCountryFileError`]; what was read before stays in use.
    pub fn reload(&self) -> Result<(), IpCountryFileError> {
        let database = read(&self.path)?;
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = database;
        Ok(())
    }
}

impl IpCountries for IpCountryFile {
    fn country_of(&self, address: IpAddr) -> Option<Country> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        // A file of IPv4 alone knows no IPv6 address.
        country(&database.lookup(address.to_canonical()).ok()?)
    }
}

fn country(found: &LookupResult<'_, Vec<u8>>) -> Option<Country> {
    found.decode_path::<&str>(&path!["country", "iso_code"]).ok()??.parse().ok()
}

fn read(path: &Path) -> Result<Database, IpCountryFileError> {
    let mut bytes = Vec::new();
    let all = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    let size = all.map_err(|source| IpCountryFileError::Read { path: path.to_owned(), source })?;
    if MAX_BYTES < size as u64 {
        return Err(IpCountryFileError::TooLarge(path.to_owned()));
    }
    let format = |error: MaxMindDbError| IpCountryFileError::Format { path: path.to_owned(), why: error.to_string() };
    let database = Reader::from_source(bytes).map_err(format)?;
    database.verify().map_err(format)?;
    let mut networks = database.networks(Default::default()).map_err(format)?;
    if networks.any(|network| network.is_ok_and(|found| country(&found).is_some())) {
        return Ok(database);
    }
    let database_type = database.metadata().database_type.clone();
    Err(IpCountryFileError::NoCountries { path: path.to_owned(), database_type })
}
