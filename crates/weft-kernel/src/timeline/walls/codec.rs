//! Pairs of commits and walls as bytes: docs/format/catalog.md.
//!
//! ```text
//!   per level, the newest first:   count 3 | 41, 1_000_000 | +1, +200_000 | +9, +1        varints
//! ```

use weft_format::wire::{ByteReader, put_count, put_varint};
use weft_format::{Error, Result, Timestamp};

use super::{Pair, WallImage};

/// Appends what is known.
pub(crate) fn put_walls(bytes: &mut Vec<u8>, image: &WallImage) {
    image.iter().for_each(|level| put_level(bytes, level));
}

fn put_level(bytes: &mut Vec<u8>, walls: &[Pair]) {
    put_count(bytes, walls.len());
    let mut before = (0, 0);
    for &(ts, wall) in walls {
        let rises = before.0 < ts.0 && (before.0 == 0 || before.1 < wall);
        assert!(rises, "walls rise with commits (walls 1)");
        put_varint(bytes, ts.0 - before.0);
        put_varint(bytes, wall.wrapping_sub(before.1) as u64);
        before = (ts.0, wall);
    }
}

/// Reads it back; `damaged` says that walls do not rise.
pub(crate) fn read_walls(input: &mut ByteReader<'_>, damaged: impl Fn() -> Error) -> Result<WallImage> {
    let mut image = WallImage::default();
    for level in &mut image {
        *level = read_level(input, &damaged)?;
    }
    let mut ends = image.iter().rev().filter_map(|level| Some((*level.first()?, *level.last()?)));
    let Some((_, mut before)) = ends.next() else { return Ok(image) };
    for (first, last) in ends {
        if first.0 <= before.0 || first.1 <= before.1 {
            return Err(damaged());
        }
        before = last;
    }
    Ok(image)
}

fn read_level(input: &mut ByteReader<'_>, damaged: impl Fn() -> Error) -> Result<Vec<Pair>> {
    let mut walls: Vec<Pair> = Vec::new();
    let mut before = (0_u64, 0_i64);
    for _ in 0..input.count()? {
        let ts = before.0.checked_add(input.varint()?).ok_or_else(&damaged)?;
        let wall = before.1.wrapping_add(input.varint()? as i64);
        if ts == before.0 || (!walls.is_empty() && wall <= before.1) {
            return Err(damaged());
        }
        walls.push((Timestamp(ts), wall));
        before = (ts, wall);
    }
    Ok(walls)
}
