//! The entries of a run within a stretch, in either direction.
//!
//! ```text
//!   forward    seek in the block of `low`, then entry by entry, block by block, up to `high`
//!   backward   a block is decoded whole and walked from its end: prefixes only grow forward
//! ```

use std::sync::Arc;

use weft_contract::Direction;
use weft_format::Result;

use super::batch::Batch;
use super::block::BlockReader;
use super::entry::{Entry, EntryBuffer, Span};
use super::run::Run;

/// A walk over a run.
pub(crate) struct RunScan {
    run: Arc<Run>,
    span: Arc<Span>,
    direction: Direction,
    /// Whether blocks go through the cache.
    cached: bool,
    /// The block that is being read; none before the first and after the last.
    block: Option<(usize, Arc<[u8]>)>,
    reader: BlockReader,
    /// Backward: the block's entries, and how many of them are still to come.
    batch: Batch,
    left: usize,
    started: bool,
    current: EntryBuffer,
}

impl RunScan {
    pub(crate) fn new(run: Arc<Run>, span: Arc<Span>, direction: Direction, cached: bool) -> RunScan {
        RunScan {
            run,
            span,
            direction,
            cached,
            block: None,
            reader: BlockReader::default(),
            batch: Batch::default(),
            left: 0,
            started: false,
            current: EntryBuffer::default(),
        }
    }

    pub(crate) fn current(&self) -> &EntryBuffer {
        &self.current
    }

    /// Goes to the next entry; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let run = self.run.clone();
        let moved = match self.direction {
            Direction::Forward => self.forward(),
            Direction::Backward => self.backward(),
        };
        if moved.map_err(|error| run.named(&error))? {
            self.current.ts = self.current.ts.max(run.attached_at());
            return Ok(true);
        }
        self.block = None;
        Ok(false)
    }

    fn load(&mut self, number: usize) -> Result<()> {
        self.block = Some((number, self.run.block(number, self.cached)?));
        Ok(())
    }

    fn forward(&mut self) -> Result<bool> {
        let mut found = false;
        if !self.started {
            self.started = true;
            let number = self.run.footer.block_of(&self.span.low);
            self.load(number)?;
            let (_, block) = self.block.as_ref().expect("a block was loaded");
            self.reader = BlockReader::new(block)?;
            let fences = self.run.footer.fences(number);
            found = self.reader.seek(block, &self.span.low, fences, &mut self.current)?;
        } else if let Some((_, block)) = &self.block {
            found = self.reader.next(block, &mut self.current)?;
        }
        while !found {
            let Some((number, _)) = self.block else { return Ok(false) };
            if number + 1 == self.run.footer.blocks.len() {
                return Ok(false);
            }
            self.load(number + 1)?;
            let (_, block) = self.block.as_ref().expect("a block was loaded");
            self.reader = BlockReader::new(block)?;
            self.current.bytes.clear();
            found = self.reader.next(block, &mut self.current)?;
        }
        Ok(self.span.is_before_end(&self.current.bytes))
    }

    fn backward(&mut self) -> Result<bool> {
        if !self.started {
            self.started = true;
            let number = self.run.footer.last_block_below(self.span.high.as_deref());
            self.decode(number)?;
            if let Some(high) = &self.span.high {
                self.left = self.batch.count_below(high);
            }
        }
        while self.left == 0 {
            match self.block {
                None | Some((0, _)) => return Ok(false),
                Some((number, _)) => self.decode(number - 1)?,
            }
        }
        self.left -= 1;
        self.batch.read(self.left, &mut self.current);
        Ok(self.current.bytes >= self.span.low)
    }

    fn decode(&mut self, number: usize) -> Result<()> {
        self.load(number)?;
        let (_, block) = self.block.as_ref().expect("a block was loaded");
        let mut reader = BlockReader::new(block)?;
        self.batch.clear();
        self.current.bytes.clear();
        while reader.next(block, &mut self.current)? {
            let Entry { value, key, ts } = self.current.entry();
            self.batch.push(value, key, ts);
        }
        self.left = self.batch.len();
        Ok(())
    }
}
