//! Which column tables to merge: a pure function from shapes to picks.
//!
//! ```text
//!   t5 [a..m] 4 MB, 31 % dead    ─▶ rewrite it: dead rows
//!   t7..t14 [a..z] 0.6 MB each   ─▶ merge the eight: small files
//!   13 files cover "k"           ─▶ merge the smallest four of them: a lookup of "k" asks them all
//! ```
//!
//! 1. Picks are disjoint, and their size is bounded, so is the work of one job (SynchroStore formula 1: the sum of the
//!    inputs' sizes is at most G, here [`INPUT_TABLES_MAX`] full tables).
//! 2. Repeated, picking comes to an end: a merge leaves fewer files or fewer dead rows or fewer files over one key.

use super::options::Options;

/// The most bytes of a job's inputs, in full column tables.
pub(crate) const INPUT_TABLES_MAX: u64 = 6;
/// The most parts of a job's inputs.
pub(crate) const INPUT_PARTS_MAX: usize = 16;
/// So many small parts are merged.
pub(crate) const SMALL_PARTS: usize = 8;

/// What the picker knows of a part.
#[derive(Clone, Debug)]
pub(crate) struct Shape<'a> {
    pub(crate) key_min: &'a [u8],
    pub(crate) key_max: &'a [u8],
    pub(crate) rows: u64,
    /// Rows that a rewrite would drop.
    pub(crate) dead: u64,
    pub(crate) bytes: u64,
    /// Cut for its size: not small, however few bytes it came to.
    pub(crate) full: bool,
}

/// Parts to merge, by their place in the shapes, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) inputs: Vec<usize>,
    pub(crate) reason: String,
}

/// What to merge now; shapes come by lowest key.
pub(crate) fn pick(shapes: &[Shape<'_>], options: &Options) -> Vec<Pick> {
    let mut taken = vec![false; shapes.len()];
    let mut picks = Vec::new();
    pick_dead(shapes, options, &mut taken, &mut picks);
    pick_small(shapes, options, &mut taken, &mut picks);
    pick_overlap(shapes, options, &mut taken, &mut picks);
    picks
}

fn bytes_max(options: &Options) -> u64 {
    options.column_table_bytes * INPUT_TABLES_MAX
}

/// Neighbours by key that have many dead rows, as many as one job takes.
fn pick_dead(shapes: &[Shape<'_>], options: &Options, taken: &mut [bool], picks: &mut Vec<Pick>) {
    let mut group: Vec<usize> = Vec::new();
    let mut bytes = 0;
    let mut flush = |group: &mut Vec<usize>| {
        if !group.is_empty() {
            let dead: u64 = group.iter().map(|&at| shapes[at].dead).sum();
            let rows: u64 = group.iter().map(|&at| shapes[at].rows).sum();
            picks.push(Pick { inputs: std::mem::take(group), reason: format!("{dead} of {rows} rows are dead") });
        }
    };
    for (at, shape) in shapes.iter().enumerate() {
        if shape.dead == 0 || shape.dead * 100 < shape.rows * options.dead_percent {
            continue;
        }
        if !group.is_empty() && (bytes + shape.bytes > bytes_max(options) || group.len() == INPUT_PARTS_MAX) {
            flush(&mut group);
            bytes = 0;
        }
        group.push(at);
        bytes += shape.bytes;
        taken[at] = true;
    }
    flush(&mut group);
}

/// The smallest of the small parts, when there are many.
fn pick_small(shapes: &[Shape<'_>], options: &Options, taken: &mut [bool], picks: &mut Vec<Pick>) {
    let small = |at: &usize| !taken[*at] && !shapes[*at].full && shapes[*at].bytes * 2 <= options.column_table_bytes;
    let mut parts: Vec<usize> = (0..shapes.len()).filter(small).collect();
    if parts.len() < SMALL_PARTS {
        return;
    }
    parts.sort_by_key(|&at| shapes[at].bytes);
    let (mut inputs, mut bytes) = (Vec::new(), 0);
    for at in parts {
        if inputs.len() == INPUT_PARTS_MAX || bytes + shapes[at].bytes > bytes_max(options) {
            break;
        }
        inputs.push(at);
        bytes += shapes[at].bytes;
        taken[at] = true;
    }
    inputs.sort_unstable();
    let reason = format!("{} files have {bytes} bytes together", inputs.len());
    picks.push(Pick { inputs, reason });
}

/// The smallest of the parts that cover the most covered key.
fn pick_overlap(shapes: &[Shape<'_>], options: &Options, taken: &mut [bool], picks: &mut Vec<Pick>) {
    let mut open: Vec<usize> = Vec::new();
    let mut deepest: Vec<usize> = Vec::new();
    for (at, shape) in shapes.iter().enumerate() {
        open.retain(|&other| shapes[other].key_max >= shape.key_min);
        open.push(at);
        if open.len() > deepest.len() {
            deepest.clone_from(&open);
        }
    }
    if deepest.len() <= options.overlap_max || deepest.iter().any(|&at| taken[at]) {
        return;
    }
    let depth = deepest.len();
    deepest.sort_by_key(|&at| shapes[at].bytes);
    let (mut inputs, mut bytes) = (Vec::new(), 0);
    for at in deepest {
        if inputs.len() >= 2 && (bytes + shapes[at].bytes > bytes_max(options) || inputs.len() == INPUT_PARTS_MAX) {
            break;
        }
        inputs.push(at);
        bytes += shapes[at].bytes;
    }
    inputs.sort_unstable();
    picks.push(Pick { inputs, reason: format!("{depth} files cover one key") });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape<'a>(range: (&'a [u8], &'a [u8]), dead: u64, bytes: u64) -> Shape<'a> {
        Shape { key_min: range.0, key_max: range.1, rows: 100, dead, bytes, full: false }
    }

    #[test]
    fn dead_rows_small_files_and_overlap_are_picked() {
        let options = Options { column_table_bytes: 1000, overlap_max: 3, ..Options::default() };
        let tidy = [shape((b"a", b"c"), 10, 900), shape((b"d", b"f"), 14, 900)];
        assert!(pick(&tidy, &options).is_empty());
        let dead = [tidy[0].clone(), shape((b"d", b"f"), 15, 900)];
        assert_eq!(pick(&dead, &options)[0].inputs, [1]);
        let small: Vec<Shape<'_>> = (0..9).map(|n| shape((b"a", b"z"), 0, 100 + n)).collect();
        assert_eq!(pick(&small, &options)[0].inputs, (0..9).collect::<Vec<_>>());
        let deep: Vec<Shape<'_>> = (0..4).map(|n| shape((b"a", b"z"), 0, 900 - n)).collect();
        assert_eq!(pick(&deep, &options)[0].inputs, [0, 1, 2, 3]);
        assert_eq!(pick(&deep[..3], &options), []);
    }

    #[test]
    fn jobs_are_bounded() {
        let options = Options { column_table_bytes: 1000, ..Options::default() };
        let many: Vec<Shape<'_>> = (0..100).map(|_| shape((b"a", b"z"), 50, 900)).collect();
        let picks = pick(&many, &options);
        assert_eq!(picks.iter().map(|pick| pick.inputs.len()).sum::<usize>(), 100);
        assert!(picks.iter().all(|pick| pick.inputs.len() <= INPUT_TABLES_MAX as usize));
    }
}
