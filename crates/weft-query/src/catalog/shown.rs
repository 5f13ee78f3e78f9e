//! What the catalog shows to one execution, as an extension of the engine's configuration.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{Result, not_impl_err};
use datafusion::execution::SessionState;
use weft_pgcatalog::Snapshot;

#[derive(Clone, Debug)]
struct Shown(Arc<Snapshot>);

impl ConfigExtension for Shown {
    const PREFIX: &'static str = "weft_catalog";
}

impl ExtensionOptions for Shown {
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
        not_impl_err!("{key} is the transaction's, and not set by text")
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// What the catalog shows; none while a query is only prepared.
pub(super) fn snapshot_of(config: &ConfigOptions) -> Option<&Snapshot> {
    config.extensions.get::<Shown>().map(|shown| &*shown.0)
}

/// A state that plans for an execution which sees this.
pub(crate) fn with_catalog(mut state: SessionState, snapshot: &Arc<Snapshot>) -> SessionState {
    state.config_mut().options_mut().extensions.insert(Shown(Arc::clone(snapshot)));
    let options = Arc::clone(state.config().options());
    state.execution_props_mut().config_options = Some(options);
    state
}
