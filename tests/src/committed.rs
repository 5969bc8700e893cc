use std::path::Path;

/// Compares generated text with the file of that name below docs/, or writes it there when DROPIN_REGENERATE is 1, as `task` of xtask does.
///
/// # Panics
/// When they differ; says from which line on and what to run.
pub fn committed(name: &str, text: &str, task: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    if std::env::var_os("DROPIN_REGENERATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write docs/{name}: {error}"));
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found.lines().zip(text.lines()).position(|(one, other)| one != other);
    assert!(
        found == text,
        "docs/{name} is stale, from line {:?} on: run `cargo xtask {task}` and commit",
        differs.map(|at| at + 1)
    );
}
