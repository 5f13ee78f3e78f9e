//! The tables that take turns: one by each method, equally loaded.

use weft_kernel::Durability;

use super::contender::{Configuration, Contender};
use super::settings::{Settings, durability_name};
use super::turn::{Outcome, Work};
use crate::subcommand::Failure;

/// See the module.
pub(super) struct Arena<'a> {
    pub(super) settings: &'a Settings,
    pub(super) contenders: Vec<Contender>,
}

impl Arena<'_> {
    /// Loads a table by each method.
    pub(super) fn load(settings: &Settings, durability: Durability) -> Result<Arena<'_>, Failure> {
        let configurations: Vec<_> = settings.methods.iter().map(|name| Configuration::of_method(name)).collect();
        Arena::of(settings, durability, "methods", &configurations)
    }

    /// Loads a table by each configuration, in directories that begin with `name`.
    pub(super) fn of<'a>(
        settings: &'a Settings,
        durability: Durability,
        name: &str,
        configurations: &[Configuration],
    ) -> Result<Arena<'a>, Failure> {
        let load = |(at, configuration): (usize, &Configuration)| {
            let dir = settings.dir.join(format!("{name}-{}-{at}", durability_name(durability)));
            Contender::load(settings, configuration, durability, dir)
        };
        let contenders = configurations.iter().enumerate().map(load).collect::<Result<_, _>>()?;
        Ok(Arena { settings, contenders })
    }

    /// Each method in turn does the same, so often; `take` is told of each turn.
    pub(super) fn turns(&self, work: &Work, mut take: impl FnMut(&Contender, Outcome)) -> Result<(), Failure> {
        for round in 0..self.settings.rounds {
            for contender in &self.contenders {
                let outcome = work.run(contender, self.settings.turn, round)?;
                contender.settle()?;
                take(contender, outcome);
            }
        }
        Ok(())
    }

    /// Tests all tables at the end.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.contenders.into_iter().try_for_each(Contender::finish)
    }
}
