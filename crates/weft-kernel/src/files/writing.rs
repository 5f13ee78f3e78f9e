//! A file that is being written, from its beginning to its end.

use std::io;

use weft_format::FileId;

use super::data_file::DataFile;

/// A new file. Dropped before it was sealed it is removed again (files 4).
pub struct NewFile {
    file: DataFile,
    bytes: u64,
}

impl NewFile {
    /// An empty file.
    pub(super) fn new(file: DataFile) -> NewFile {
        NewFile { file, bytes: 0 }
    }

    /// Its number.
    pub fn number(&self) -> FileId {
        self.file.number()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes behind what was written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes, self.bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Ends it. It can be read, and is to be sealed before anything durable names it.
    pub fn finish(self) -> DataFile {
        self.file
    }

    /// Ends it and makes its bytes durable; its name is by [`Files::sync_names`](super::Files::sync_names).
    pub fn seal(self) -> io::Result<DataFile> {
        self.file.seal()?;
        Ok(self.file)
    }
}
