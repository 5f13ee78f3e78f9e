//! Texts that are not shown: those that may have a password in them.
//!
//! ```text
//!   ALTER ROLE ann PASSWORD 'secret'       hidden; so is ALTERR ROLE ann PASSWORD 'secret', which does not even parse
//!   SELECT password FROM users WHERE id = 'x'   shown
//! ```

/// What stands in the place of a text that may have a password in it.
pub const HIDDEN: &str = "<hidden: it may have a password>";

/// Whether a text may have a password in it: two of the verb, the kind of object and the word itself, and a quote; or a
/// verifier.
pub fn hides(text: &str) -> bool {
    if !text.contains(['\'', '$']) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    if lower.contains("scram-sha-256") {
        return true;
    }
    let has = |wanted: &[&str]| {
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| wanted.contains(&word))
    };
    let verb = has(&["alter", "create"]);
    let object = has(&["role", "user", "group"]);
    let word = lower.contains("password");
    u8::from(verb) + u8::from(object) + u8::from(word) >= 2
}
