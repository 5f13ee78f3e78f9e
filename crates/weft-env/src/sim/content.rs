//! The bytes of a simulated file: pages that versions of the file share.
//!
//! ```text
//!   current  len 9000   [ P0' ][ P1 ][ P2 ]       P1 is shared by both; a hole (None) reads as zeros
//!   durable  len 8192   [ P0  ][ P1 ]
//! ```
//!
//! 1. There is a slot for every page below `len`, and none above.
//! 2. Bytes of the last page at and above `len` are zero.

use std::sync::Arc;

/// Bytes of a page, the unit in which the disk is allocated.
pub(crate) const PAGE_BYTES: u64 = 4096;

type Page = [u8; PAGE_BYTES as usize];

/// One version of a file's bytes. Cloning copies references to pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pages: Vec<Option<Arc<Page>>>,
    len: u64,
}

impl Content {
    /// The length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// How many pages occupy space.
    pub(crate) fn allocated_pages(&self) -> u64 {
        self.pages.iter().flatten().count() as u64
    }

    /// How many bytes from `offset` on, at most `len`, can be written when `free_pages` more pages may be allocated.
    pub(crate) fn writable_bytes(&self, offset: u64, len: u64, mut free_pages: u64) -> u64 {
        let end = offset + len;
        let mut at = offset;
        while at < end {
            let page = (at / PAGE_BYTES) as usize;
            if self.pages.get(page).is_none_or(Option::is_none) {
                if free_pages == 0 {
                    break;
                }
                free_pages -= 1;
            }
            at = end.min((at / PAGE_BYTES + 1) * PAGE_BYTES);
        }
        at - offset
    }

    /// Reads what is there of `buffer.len()` bytes at `offset`.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let end = self.len.min(offset.saturating_add(buffer.len() as u64));
        let mut at = offset;
        while at < end {
            let (page, start, count) = span(at, end);
            let target = &mut buffer[(at - offset) as usize..][..count];
            match &self.pages[page] {
                Some(bytes) => target.copy_from_slice(&bytes[start..start + count]),
                None => target.fill(0),
            }
            at += count as u64;
        }
        at.saturating_sub(offset) as usize
    }

    /// Writes `bytes` at `offset`, extending the length when needed; returns how many pages were allocated.
    pub(crate) fn write(&mut self, bytes: &[u8], offset: u64) -> u64 {
        let end = offset + bytes.len() as u64;
        if end > self.len && !bytes.is_empty() {
            self.set_len(end);
        }
        let mut allocated = 0;
        let mut at = offset;
        while at < end {
            let (page, start, count) = span(at, end);
            let slot = &mut self.pages[page];
            allocated += u64::from(slot.is_none());
            let target = Arc::make_mut(slot.get_or_insert_with(|| Arc::new([0; PAGE_BYTES as usize])));
            target[start..start + count].copy_from_slice(&bytes[(at - offset) as usize..][..count]);
            at += count as u64;
        }
        allocated
    }

    /// Cuts the file, or extends it with a hole; returns how many pages were freed.
    pub(crate) fn set_len(&mut self, len: u64) -> u64 {
        let keep = len.div_ceil(PAGE_BYTES) as usize;
        let freed = self.pages.iter().skip(keep).flatten().count() as u64;
        self.pages.resize(keep, None);
        let used = (len % PAGE_BYTES) as usize;
        if len < self.len
            && used > 0
            && let Some(Some(page)) = self.pages.last_mut()
        {
            Arc::make_mut(page)[used..].fill(0);
        }
        self.len = len;
        freed
    }
}

/// The page of `at`, where in it `at` lies, and how many bytes of it come before `end`.
fn span(at: u64, end: u64) -> (usize, usize, usize) {
    let start = at % PAGE_BYTES;
    ((at / PAGE_BYTES) as usize, start as usize, (PAGE_BYTES - start).min(end - at) as usize)
}
