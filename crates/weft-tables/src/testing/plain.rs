//! A method that does its duties and has no abilities: another one, whose abilities nobody is told of.
//!
//! ```text
//!   Plain(column)   reads, writes, upkeep ─▶ column       bulk() bulk_replace() blind() ─▶ None
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{
    Blind, Bulk, BulkReplace, Damage, Derived, FileSwitch, InPlace, Inspect, JobKind, JobOffer, LayerStatus, Newest,
    PartStatus, Read, RecoveredTable, ScanOutput, ScanRequest, Table, TableDef, TableStatistics, TableWrites, TakenOut,
    Upkeep, Versions, Write,
};
use weft_env::File;
use weft_format::{Error, FileId, Result, RowCodec, Schema, Timestamp, Value};
use weft_kernel::fault::Fault;
use weft_kernel::method::{Method, TableContext};
use weft_kernel::step::Step;

/// See above.
pub struct Plain(pub Arc<dyn Method>);

impl Method for Plain {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn job_kinds(&self) -> &'static [JobKind] {
        self.0.job_kinds()
    }

    fn steps(&self) -> &'static [Step] {
        self.0.steps()
    }

    fn faults(&self) -> &'static [Fault] {
        self.0.faults()
    }

    fn check_options(&self, options: &BTreeMap<String, String>) -> Result<()> {
        self.0.check_options(options)
    }

    fn open(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(PlainTable(self.0.open(context, recovered)?)))
    }

    fn derive(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Derived>> {
        self.0.derive(context, recovered)
    }

    fn fold(&self, payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
        self.0.fold(payloads)
    }

    fn test_file(&self, def: &TableDef, payloads: &[Vec<u8>], file: FileId, handle: Arc<dyn File>) -> Result<()> {
        self.0.test_file(def, payloads, file, handle)
    }

    fn take_out(
        &self,
        def: &TableDef,
        payloads: &[Vec<u8>],
        file: FileId,
        handle: Option<Arc<dyn File>>,
    ) -> Result<TakenOut> {
        self.0.take_out(def, payloads, file, handle)
    }
}

struct PlainTable(Arc<dyn Table>);

impl Table for PlainTable {
    fn bulk(&self) -> Option<&dyn Bulk> {
        None
    }

    fn bulk_replace(&self) -> Option<&dyn BulkReplace> {
        None
    }

    fn blind(&self) -> Option<&dyn Blind> {
        None
    }

    fn in_place(&self) -> Option<&dyn InPlace> {
        None
    }

    fn versions(&self) -> Option<&dyn Versions> {
        None
    }
}

impl Read for PlainTable {
    fn read(
        &self,
        codec: &RowCodec,
        key: &[u8],
        read_ts: Timestamp,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        self.0.read(codec, key, read_ts, columns, values)
    }

    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>> {
        self.0.read_row(key, read_ts)
    }

    fn newest(&self, key: &[u8]) -> Result<Option<Newest>> {
        self.0.newest(key)
    }

    fn newest_row(&self, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        self.0.newest_row(key)
    }

    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        self.0.greatest_key()
    }

    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        self.0.scan(schema, request)
    }

    fn statistics(&self) -> TableStatistics {
        self.0.statistics()
    }
}

impl Write for PlainTable {
    fn apply(&self, ts: Timestamp, writes: &TableWrites) -> Result<()> {
        assert!(writes.attachments.is_empty(), "a table that builds no files gets none (abilities 2)");
        self.0.apply(ts, writes)
    }

    fn give_up(&self, ts: Timestamp, error: &Error) -> bool {
        self.0.give_up(ts, error)
    }
}

impl Upkeep for PlainTable {
    fn jobs(&self) -> Vec<JobOffer> {
        self.0.jobs()
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        self.0.run(offer)
    }

    fn freeze(&self) {
        self.0.freeze();
    }

    fn durable_cut(&self) -> Timestamp {
        self.0.durable_cut()
    }

    fn evolve(&self, def: &Arc<TableDef>) {
        self.0.evolve(def);
    }

    fn drop_files(&self) {
        self.0.drop_files();
    }

    fn check(&self) -> Result<Vec<String>> {
        self.0.check()
    }

    fn damage(&self) -> Vec<Damage> {
        self.0.damage()
    }

    fn unavailable(&self) -> Option<&Error> {
        self.0.unavailable()
    }

    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        self.0.follow(switch)
    }
}

impl Inspect for PlainTable {
    fn layers(&self) -> Vec<LayerStatus> {
        self.0.layers()
    }

    fn parts(&self) -> Vec<PartStatus> {
        self.0.parts()
    }
}
