//! What SET TIME ZONE takes.

use super::interval::parse_interval;
use crate::style::{Style, zone_of_interval};
use crate::zone::Zone;

impl Style {
    /// Takes a `TimeZone` as SET has it: a name, a POSIX string, hours east of UTC, or `interval '...'`; none when
    /// there is no such zone.
    pub fn set_zone(&mut self, text: &str) -> Option<()> {
        self.zone = match text.get(..8) {
            Some(word) if word.eq_ignore_ascii_case("interval") => {
                let literal = text[8..].trim().strip_prefix('\'')?.strip_suffix('\'')?;
                let interval = parse_interval(literal, self).ok()?;
                zone_of_interval(interval)?
            }
            _ => match text.trim().parse::<f64>() {
                Ok(hours) if hours.abs() <= 168.0 => Zone::fixed((hours * 3600.0) as i32),
                Ok(_) => return None,
                Err(_) => Zone::find(text)?,
            },
        };
        Some(())
    }
}
