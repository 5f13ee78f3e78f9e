//! Who a client is: what it said when it came, which every server of its session is told.

use weft_format::{Code, Error, Result};
use weft_wire::client::Target;

use crate::options::{Options, Place};

/// User, database, password and the settings that the session begins with.
pub(crate) struct Who {
    user: String,
    database: String,
    pub(crate) password: Option<String>,
    settings: Vec<(String, String)>,
    /// Whether the session begins without any promise of freshness.
    pub(crate) begins_stale: bool,
}

impl Who {
    /// Reads the startup packet.
    pub(crate) fn of(parameters: &[(&str, &str)], options: &Options) -> Result<Who> {
        let named = |wanted: &str| parameters.iter().rev().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        let user = named("user").filter(|user| !user.is_empty()).ok_or_else(|| {
            Error::new(Code::InvalidAuthorization, "no PostgreSQL user name specified in startup packet")
        })?;
        let database = named("database").unwrap_or(user);
        if named("replication").is_some_and(|word| !matches!(word, "false" | "off" | "no" | "0")) {
            let message = "connections for replication do not go through the router";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("connect to the server itself"));
        }
        let in_options = |name: &str| named("options").is_some_and(|text| text.to_lowercase().contains(name));
        let mut settings = Vec::new();
        let own = [("freshness", Some(options.freshness.clone())), ("freshness_timeout", options.freshness_timeout())];
        for (name, value) in own {
            if let Some(value) = value.filter(|_| !in_options("freshness")) {
                settings.push((name.to_owned(), value));
            }
        }
        let is_setting =
            |name: &str| !matches!(name, "user" | "database" | "replication") && !name.starts_with("_pq_.");
        let given = parameters.iter().filter(|(name, _)| is_setting(name));
        settings.extend(given.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let last = settings.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case("freshness"));
        let begins_stale = last.is_some_and(|(_, value)| value.trim().eq_ignore_ascii_case("none"));
        Ok(Who { user: user.into(), database: database.into(), password: None, settings, begins_stale })
    }

    /// A connection to a server in the client's name.
    pub(crate) fn target(&self, place: &Place, options: &Options) -> Target {
        let mut target = place.target(options, &self.user);
        target.database.clone_from(&self.database);
        target.password.clone_from(&self.password);
        target.settings.clone_from(&self.settings);
        target
    }
}
