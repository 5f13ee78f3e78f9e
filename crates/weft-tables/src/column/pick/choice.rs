//! The order in which jobs are looked for: what is moved is not collected, what is collected is not merged.

use super::super::borders::Borders;
use super::super::options::Options;
use super::view::{Pick, Shape, View};
use super::{bucket, incremental, moves};

/// The jobs that could run now, none of which needs what another has; shapes come by lowest key.
pub(crate) fn pick(shapes: &[Shape<'_>], borders: &Borders, options: &Options) -> Vec<Pick> {
    let mut view = View::new(shapes, borders, options);
    let mut picks = Vec::new();
    let is_due = incremental::is_due(&view);
    picks.extend(moves::pick(&mut view, is_due));
    if is_due {
        incremental::pick(&mut view, &mut picks);
    }
    bucket::pick(&mut view, &mut picks);
    picks
}
