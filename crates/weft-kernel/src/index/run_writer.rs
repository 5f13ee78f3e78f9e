//! Writes a run: entries come in order, blocks and segments leave as they fill.
//!
//! ```text
//!   push ... push │ 8 KiB: block 0 │ push ... │ block 15, segment 0 │ ...    finish: footer, trailer     sync
//!                 └─ gathered, written 256 KiB at a time
//! ```
//!
//! 1. Memory is bounded by a group of blocks and what is gathered, not by the run.
//! 2. A run that is not finished leaves no file; one that is finished and not kept is its owner's to retire.

use std::sync::Arc;

use weft_env::Env;
use weft_format::{Error, FileId, Result, TableId, Timestamp, file_name};

use super::block::BlockBuilder;
use super::entry::shared_len;
use super::filter::{FilterShape, SEGMENT_BLOCKS, value_hash};
use super::footer::{EdgeEntry, Footer, Piece, Place, Trailer, header_bytes};
use super::run::Run;
use crate::fault::{Fault, active};
use crate::files::NewFile;
use crate::services::Services;

/// Bytes that are written at once.
const WRITE_BYTES: usize = 256 << 10;

/// What makes runs of one index.
#[derive(Clone)]
pub(crate) struct RunFiles {
    pub(crate) index: TableId,
    pub(crate) env: Env,
    pub(crate) services: Arc<Services>,
    pub(crate) block_bytes: usize,
}

impl RunFiles {
    /// Starts a run.
    pub(crate) fn create(&self, filter: FilterShape) -> Result<RunWriter> {
        let file = self.services.files.create(self.index)?;
        Ok(RunWriter {
            files: self.clone(),
            gathered: header_bytes(self.index, file.number()).to_vec(),
            file,
            block: BlockBuilder::default(),
            hashes: Vec::new(),
            value: None,
            footer: Footer { filter, ts_min: Timestamp::MAX, ..Footer::default() },
        })
    }

    /// Opens a run that the manifest or the log names.
    pub(crate) fn open(&self, file: FileId) -> Result<Run> {
        let hint = "restore the file from a backup, or drop and create the index";
        let data = self.services.files.open(self.index, file).map_err(|error| error.hint(hint))?;
        Run::new(&self.env, &self.services, self.index, data)
    }
}

/// A run being written.
pub(crate) struct RunWriter {
    files: RunFiles,
    file: NewFile,
    /// Bytes not written yet.
    gathered: Vec<u8>,
    block: BlockBuilder,
    /// Hashes of the group's values.
    hashes: Vec<u64>,
    /// The value of the last entry, and whether the group has its hash.
    value: Option<(Vec<u8>, bool)>,
    footer: Footer,
}

impl RunWriter {
    /// Adds an entry above all others.
    pub(crate) fn push(&mut self, bytes: &[u8], value_len: usize, ts: Timestamp) -> Result<()> {
        assert!(value_len <= bytes.len(), "a value is the beginning of its entry");
        if self.block.count == 0 {
            self.begin_block(bytes, value_len);
        }
        self.note_value(&bytes[..value_len]);
        self.block.push(bytes, value_len, ts);
        self.footer.last.value_len = value_len as u32;
        self.footer.entry_count += 1;
        self.footer.ts_min = self.footer.ts_min.min(ts);
        self.footer.ts_max = self.footer.ts_max.max(ts);
        if self.block.bytes() >= self.files.block_bytes { self.end_block() } else { Ok(()) }
    }

    fn begin_block(&mut self, bytes: &[u8], value_len: usize) {
        let separator = match self.footer.blocks.len() {
            0 => {
                self.footer.first = EdgeEntry { bytes: bytes.to_vec(), value_len: value_len as u32 };
                0
            }
            _ => {
                assert!(bytes > self.block.last(), "entries ascend from block to block (footer 1)");
                (shared_len(self.block.last(), bytes) + 1).min(bytes.len())
            }
        };
        self.footer.separators.extend_from_slice(&bytes[..separator]);
        self.footer.separator_ends.push(self.footer.separators.len() as u32);
    }

    fn note_value(&mut self, value: &[u8]) {
        match &mut self.value {
            Some((last, true)) if last == value => return,
            Some((last, hashed)) => {
                if last != value {
                    self.footer.value_count += 1;
                    last.clear();
                    last.extend_from_slice(value);
                }
                *hashed = true;
            }
            none => {
                self.footer.value_count += 1;
                *none = Some((value.to_vec(), true));
            }
        }
        if active(Fault::INDEX_FILTER_FORGETS) && self.hashes.len() == 5 {
            return;
        }
        self.hashes.push(self.footer.filter.hash(value_hash(value)));
    }

    fn end_block(&mut self) -> Result<()> {
        let (number, entries) = (self.footer.blocks.len(), self.block.count);
        let start = self.gathered.len();
        self.block.finish(&mut self.gathered);
        let place = self.place(Piece::Block(number), start, entries);
        self.footer.blocks.push(place);
        assert_eq!(self.footer.separator_ends.len(), number + 1, "each block has a separator");
        if self.footer.blocks.len().is_multiple_of(SEGMENT_BLOCKS) {
            self.end_segment();
        }
        if self.gathered.len() >= WRITE_BYTES { self.write_gathered() } else { Ok(()) }
    }

    fn end_segment(&mut self) {
        let start = self.gathered.len();
        assert!(!self.hashes.is_empty(), "a segment has the values of its blocks' entries (filter 1)");
        self.footer.filter.write_segment(&self.hashes, &mut self.gathered);
        self.hashes.clear();
        if let Some((_, hashed)) = &mut self.value {
            *hashed = false;
        }
        let place = self.place(Piece::Segment(self.footer.segments.len()), start, 0);
        self.footer.segments.push(place);
        let segments = self.footer.blocks.len().div_ceil(SEGMENT_BLOCKS);
        assert_eq!(self.footer.segments.len(), segments, "16 blocks, their segment, 16 blocks, ... (footer 3)");
    }

    /// What holds when all blocks and segments are there.
    fn check(&self) {
        let Footer { entry_count, value_count, ts_min, ts_max, blocks, segments, .. } = &self.footer;
        assert!(*entry_count > 0, "a run has entries");
        assert!((1..=*entry_count).contains(value_count), "each value of a run has an entry");
        assert!(ts_min <= ts_max, "the timestamps of a run lie between the least and the greatest");
        let counted: u64 = blocks.iter().map(|block| u64::from(block.entries)).sum();
        assert_eq!(counted, *entry_count, "each entry of a run is in one block");
        let end = segments.last().map_or(0, |last| last.offset + u64::from(last.bytes));
        assert_eq!(
            end,
            self.file.bytes() + self.gathered.len() as u64,
            "the footer follows the last segment (footer 3)"
        );
    }

    fn place(&self, piece: Piece, start: usize, entries: u32) -> Place {
        let bytes = &self.gathered[start..];
        assert!(bytes.len() <= u32::MAX as usize, "a block or segment is shorter than 4 GiB");
        let (offset, checksum) = (self.file.bytes() + start as u64, piece.checksum(self.file.number(), bytes));
        Place { offset, bytes: bytes.len() as u32, checksum, entries }
    }

    fn write_gathered(&mut self) -> Result<()> {
        let written = self.file.append(&self.gathered);
        let name = || file_name(self.files.index, self.file.number());
        written.map_err(|error| Error::io(format_args!("writing {}", name()), &error))?;
        self.gathered.clear();
        Ok(())
    }

    /// Bytes so far, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.bytes() + (self.gathered.len() + self.block.bytes()) as u64
    }

    /// Writes what is left; the caller syncs. There is at least one entry.
    pub(crate) fn finish(mut self) -> Result<Run> {
        self.footer.last.bytes = self.block.last().to_vec();
        if self.block.count > 0 {
            self.end_block()?;
        }
        if !self.footer.blocks.len().is_multiple_of(SEGMENT_BLOCKS) {
            self.end_segment();
        }
        self.check();
        let footer = self.footer.encode();
        let trailer = Trailer {
            footer_offset: self.file.bytes() + self.gathered.len() as u64,
            footer_bytes: u32::try_from(footer.len()).expect("a footer is shorter than 4 GiB"),
            footer_checksum: Piece::Footer.checksum(self.file.number(), &footer),
        };
        self.gathered.extend_from_slice(&footer);
        self.gathered.extend_from_slice(&trailer.encode(self.file.number()));
        self.write_gathered()?;
        let RunWriter { files: RunFiles { index, env, services, .. }, file, .. } = self;
        Run::new(&env, &services, index, file.finish())
    }
}
