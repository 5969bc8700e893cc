/// What programs and operators do with a ring in a folder of its own below the key folder, where its newest key is the one that works.
macro_rules! ring_operations {
    ($keys:ident, $folder:literal, $derive:ident, works: $works:literal, destroyed: $destroyed:literal) => {
        impl $keys {
            /// Opens the keys in the key folder `dir`, or makes the first when there is none yet.
            ///
            /// # Errors
            /// [`KeyFileError`] when the directory or a file cannot be used or is open to other users.
            pub fn open_or_create(dir: &Path, now: Timestamp) -> Result<Self, KeyFileError> {
                let keys = Self::open(dir)?;
                if keys.is_empty() {
                    keys.ring.make_first(now)?;
                }
                Ok(keys)
            }

            /// Opens the keys in the key folder `dir`, perhaps none; makes nothing.
            ///
            /// # Errors
            /// [`KeyFileError`] when the directory or a file cannot be used or is open to other users.
            pub fn open(dir: &Path) -> Result<Self, KeyFileError> {
                Ok(Self { ring: KeyRing::open(&dir.join($folder), None, $derive)? })
            }

            /// Whether there was no key when the ring was opened.
            pub fn is_empty(&self) -> bool {
                self.ring.is_empty()
            }

            #[doc = concat!("The keys that there are, oldest first. The last one ", $works, ".")]
            ///
            /// # Errors
            /// [`KeyFileError`] when the folder cannot be read.
            pub fn list_keys(&self) -> Result<Vec<KeyInfo>, KeyFileError> {
                self.ring.list()
            }

            #[doc = concat!("Makes the key that ", $works, " from now on, and returns its id. Programs that run find it within")]
            /// [`RELOAD_INTERVAL`](crate::RELOAD_INTERVAL).
            ///
            /// # Errors
            /// [`KeyFileError`] when the folder cannot be written.
            pub fn make_key(&self, now: Timestamp) -> Result<String, KeyFileError> {
                self.ring.make(now).map(|id| id.to_string())
            }

            #[doc = concat!("Destroys a key", $destroyed, " The newest key is refused.")]
            ///
            /// # Errors
            /// [`KeyFileError::InUse`], and others when the folder cannot be written.
            pub fn destroy_key(&self, id: &str) -> Result<(), KeyFileError> {
                self.ring.destroy(id)
            }
        }
    };
}

pub(crate) use ring_operations;
