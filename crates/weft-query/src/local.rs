//! The session that a plan is made for, as an extension of the engine's configuration: functions find it there when
//! constants are folded, and when they run.
//!
//! ```text
//!   SET TimeZone = 'Asia/Tokyo';  SELECT ts::date FROM t
//!   plan   cast(ts AS date), an immutable function to the engine; kept for sessions of this zone only
//! ```
//!
//! 1. A plan in which a function depends on the session says so (`session_reads`), and is kept with its style.
//! 2. What reads the present is a stable function to the engine, so its plan is made for each execution.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{Result, not_impl_err};
use datafusion::execution::SessionState;
use weft_expr::Local;

#[derive(Clone, Debug)]
struct Session(Arc<Local>);

impl ConfigExtension for Session {
    const PREFIX: &'static str = "weft_session";
}

impl ExtensionOptions for Session {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _: &str) -> Result<()> {
        not_impl_err!("{key} is the session's, and not set by text")
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// The session that a plan is made for.
pub(super) fn local_of(config: &ConfigOptions) -> &Local {
    config.extensions.get::<Session>().map_or(Local::fixed(), |session| &session.0)
}

/// A state that plans for a session.
pub(super) fn state_for(state: &SessionState, local: &Local) -> SessionState {
    let mut state = state.clone();
    state.config_mut().options_mut().extensions.insert(Session(Arc::new(local.clone())));
    let options = Arc::clone(state.config().options());
    state.execution_props_mut().config_options = Some(options);
    state
}
