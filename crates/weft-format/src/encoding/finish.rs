//! The end of a block: what waits in a builder is encoded, and it starts over.

use crate::encoding::builder::{BlockBuilder, Data, EncodedBlock, HashesWanted};
use crate::encoding::encode::encode;
use crate::encoding::pieces::Options;

impl BlockBuilder {
    /// Encodes the waiting rows (at least one) as one block and starts over.
    pub fn finish(&mut self, wanted: HashesWanted) -> EncodedBlock {
        self.encode_waiting(Options { wanted, cut: false, pause: &mut || {} })
    }

    /// As [`BlockBuilder::finish`]; what becomes large is cut into slices.
    pub(crate) fn finish_slices(&mut self, wanted: HashesWanted, pause: &mut dyn FnMut()) -> EncodedBlock {
        self.encode_waiting(Options { wanted, cut: true, pause })
    }

    fn encode_waiting(&mut self, options: Options<'_>) -> EncodedBlock {
        assert!(self.rows > 0, "a block has at least one row");
        if self.null_count > 0 && self.null_count < self.rows {
            self.fill_nulls();
        }
        let mut trainer = std::mem::take(&mut self.trainer);
        let block = encode(self, &mut trainer, options);
        self.trainer = trainer;
        self.start_over();
        block
    }

    /// Forgets the waiting rows.
    pub(crate) fn start_over(&mut self) {
        match &mut self.data {
            Data::Bool(values) => values.clear(),
            Data::Word16(values) => values.clear(),
            Data::Word32(values) => values.clear(),
            Data::Word64(values) => values.clear(),
            Data::Word128(values) => values.clear(),
            Data::Text { ends, bytes } => {
                ends.clear();
                bytes.clear();
            }
        }
        self.validity.clear();
        (self.null_count, self.rows) = (0, 0);
    }
}
