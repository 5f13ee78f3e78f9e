//! A follower: recovery that goes on. It reads what another engine writes, log and files, and writes nothing.
//!
//! ```text
//!   writer     log: ... commit 41 · commit 42 · layout: edit 12 of t5 {cut 40} · commit 43 · (not durable yet)
//!                                                                                 ▲ announced
//!   join       manifest as it is (11 edits) ─▶ redo of the log up to what is announced ─▶ snapshots from there on
//!   follow     commit 42: applied as the writer did, published     edit 12: t5 does with its files as the writer did
//!              commit 43: applied, published
//! ```
//!
//! 1. Nothing is read of the log beyond what the writer has announced as durable: what is published here no crash of
//!    the writer takes back.
//! 2. A commit is published when it is applied to every table and fed to every index, so a snapshot is one the writer
//!    had, or a part of its log without a gap.
//! 3. A switch of layout is followed where the log tells of it: everything up to its cut is applied by then, and no
//!    snapshot sees a difference.
//! 4. What the follower needs may be gone: the log that it has not read, a file that the writer dropped since. Nothing
//!    is guessed then: it fails, shows what it has published, and joins anew. The same when the log says that nothing
//!    was told of some edits of the manifest: a crash came between the two.
//! 5. What depends on the memory of the writer (locks, what is sequenced and not durable) there is none of here: who
//!    would write is refused.
//! 6. An edit of the manifest that was read when joining may be one that the writer lost in a crash: when its next
//!    epoch begins and the log has not told of that edit by then, another one may get its number. It joins anew.
//!
//! Memory: rows and entries beyond the writer's cuts, and definitions; of undecided transactions that the writer sent
//! ahead of their commit as much as an option says (`undecided.rs`).
//!
//! Source: PolarDB-IMCI sections 5 and 7, for logical records; DESIGN sections 3 (Log) and 8.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::FileSwitch;
use weft_env::Env;
use weft_format::{Code, Error, Lsn, Result, TableId, Timestamp};

use super::open::{Ground, read_manifest, with_handles};
use super::redo::{Mode, Redo};
use super::threads;
use crate::fault::{Fault, active};
use crate::files::Files;
use crate::log::{Log, LogReader, Record, read_live_log};
use crate::manifest::{LayoutSwitch, Manifest, RecoveredManifest};
use crate::method::{Method, Methods};
use crate::options::EngineOptions;
use crate::txn::{Engine, refused_to_follower};

/// How often a manifest that changes meanwhile is read again.
const TRIES: u32 = 20;

/// What follows an engine. It is asked to go on by whoever hears from the writer how far the log is durable.
pub struct Follower {
    engine: Arc<Engine>,
    redo: Redo,
    reader: LogReader,
    /// The edits of the manifest that were read when it joined, and the epoch of the log then.
    joined: (u64, u32),
    /// Why it cannot go on (follow 4).
    lost: Option<Error>,
}

/// What a record of the log came to.
enum Came {
    /// Nothing that is published.
    Part,
    Commit(Timestamp),
}

impl Follower {
    /// Joins the engine that writes a directory. `announced` says how far its log is durable now: it is asked after the
    /// manifest was read, and again after files were opened. The directory must hold a database. Fails when what it
    /// needs goes meanwhile: joining again reads a newer manifest.
    pub fn join(
        env: Env,
        dir: &Path,
        methods: Vec<Arc<dyn Method>>,
        options: EngineOptions,
        announced: &dyn Fn() -> Lsn,
    ) -> Result<Follower> {
        Follower::join_unless((env, dir), methods, options, announced, &|| false)
    }

    /// The same, which ends with [`Code::QueryCanceled`] soon after `stop` says so: it is asked before each record.
    pub fn join_unless(
        (env, dir): (Env, &Path),
        methods: Vec<Arc<dyn Method>>,
        options: EngineOptions,
        announced: &dyn Fn() -> Lsn,
        stop: &dyn Fn() -> bool,
    ) -> Result<Follower> {
        let methods: Arc<Methods> = Arc::new(methods.into_iter().map(|method| (method.name(), method)).collect());
        options.check()?;
        let (env, handles) = with_handles(env, &options);
        let Joined { manifest, recovered, mut reader, announced: begun } =
            begin(&env, dir, &options, (announced, stop))?;
        let ground = Ground::new(&env, manifest, &options, |forget| Files::of_another(&env, dir, handles, forget));
        let Ground { services, catalog, .. } = &ground;
        services.files.find_former()?;
        services.timeline.recover_to(recovered.cut_max);
        catalog.raise_next_id(recovered.table_max.0 + 1);
        let mut redo = Redo::new((&env, &methods), services, catalog, Mode::Joining);
        redo.open_catalog()?;
        redo.check_begin(reader.begins())?;
        // Pages that were read just now may have what was in the log by then, and not when it was asked (in place 1).
        let announced = announced().max(begun);
        redo.announced = Some(announced);
        redo.redo_pages()?;
        follow_all(&mut redo, &mut reader, stop)?;
        reader.advance(announced)?;
        follow_all(&mut redo, &mut reader, stop)?;
        redo.feed_behind(Some(announced))?;
        services.timeline.recover_to(reader.last_timestamp());
        let (published, last) = (services.published(), services.last_sequenced());
        assert_eq!(published, last, "who has joined shows all that it has read (follow 2)");
        services.timeline.opened();
        redo.mode = Mode::Following;
        let joined = (recovered.edits, reader.epoch());
        let log = Arc::new(Log::refusing(&env, dir, options.log(), refused_to_follower()));
        let core = Arc::new(ground.core(env, methods, log, (options, true)));
        let engine = Arc::new(Engine::of(core));
        engine.keep_threads(threads::start_following(&engine.core)?);
        Ok(Follower { engine, redo, reader, joined, lost: None })
    }

    /// The engine that shows what was followed so far. It takes no writes.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// How far it has read.
    pub fn position(&self) -> Lsn {
        self.reader.position()
    }

    /// It needs the log from here on: of transactions that are not decided it may read their changes again.
    pub fn needs_from(&self) -> Lsn {
        let position = self.position();
        self.redo.undecided_from().map_or(position, |from| from.min(position))
    }

    /// So many edits of the manifest it has followed: of files that they have forgotten it opens none.
    pub fn edits(&self) -> u64 {
        self.redo.services.manifest.edit_count().load(Ordering::Acquire)
    }

    /// The opening of the writer whose log it reads.
    pub fn epoch(&self) -> u32 {
        self.reader.epoch()
    }

    /// Goes on to what is announced; what is published then.
    pub fn follow(&mut self, announced: Lsn) -> Result<Timestamp> {
        while self.follow_one(announced)?.is_some() {}
        Ok(self.engine.published())
    }

    /// Goes on to the next commit; none when there is none up to what is announced. After an error it does not go on
    /// (follow 4).
    pub fn follow_one(&mut self, announced: Lsn) -> Result<Option<Timestamp>> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let followed = self.go_on(announced);
        followed.inspect_err(|error| self.lost = Some(error.clone()))
    }

    fn go_on(&mut self, announced: Lsn) -> Result<Option<Timestamp>> {
        assert_eq!(self.redo.mode, Mode::Following, "who goes on has joined, and publishes what it has applied");
        assert!(self.lost.is_none(), "what a follower has lost is not guessed (follow 4)");
        loop {
            while let Some(came) = follow_record(&mut self.redo, &mut self.reader, Some(self.joined))? {
                let Came::Commit(ts) = came else { continue };
                if self.redo.has_made_index() {
                    self.redo.feed_behind(Some(self.reader.position()))?;
                }
                self.redo.services.timeline.recover_to(ts);
                return Ok(Some(ts));
            }
            if announced <= self.reader.position() {
                return Ok(None);
            }
            self.reader.advance(announced)?;
            self.redo.announced = Some(announced);
        }
    }
}

/// Where a follower begins.
struct Joined {
    manifest: Arc<Manifest>,
    recovered: RecoveredManifest,
    /// At the first segment, which is in memory.
    reader: LogReader,
    announced: Lsn,
}

/// The manifest, and a log that was not cut because of a later edit: that one has everything which the manifest's
/// tables lack.
fn begin(
    env: &Env,
    dir: &Path,
    options: &EngineOptions,
    (announced, stop): (&dyn Fn() -> Lsn, &dyn Fn() -> bool),
) -> Result<Joined> {
    let again = |what: String| Error::new(Code::CannotConnectNow, what).hint("join again in a moment");
    if !Manifest::exists(env, dir)? {
        return Err(again(format!("{} holds no database yet", dir.display())));
    }
    let mut error = again("the manifest changes faster than it is read".to_owned());
    for _ in 0..TRIES {
        check_goes_on(stop)?;
        // It may be read while an edit is written: what is damage then is none the next time.
        let (manifest, recovered) = match read_manifest(env, dir, options) {
            Ok(read) => read,
            Err(failed) => {
                error = failed;
                continue;
            }
        };
        let announced = announced();
        if recovered.log > announced {
            let needed = recovered.log;
            return Err(again(format!("the manifest depends on the log up to {needed}, {announced} was announced")));
        }
        let reader = read_live_log(env, dir, announced)?;
        if reader.begins().is_none() {
            return Err(again("the log has not begun yet".to_owned()));
        }
        if read_manifest(env, dir, options).is_ok_and(|(_, after)| after.edits == recovered.edits) {
            return Ok(Joined { manifest, recovered, reader, announced });
        }
    }
    Err(error)
}

/// Applies what the reader has, unless it is stopped.
fn follow_all(redo: &mut Redo, reader: &mut LogReader, stop: &dyn Fn() -> bool) -> Result<()> {
    while follow_record(redo, reader, None)?.is_some() {
        check_goes_on(stop)?;
    }
    Ok(())
}

fn check_goes_on(stop: &dyn Fn() -> bool) -> Result<()> {
    if stop() { Err(Error::new(Code::QueryCanceled, "joining was stopped")) } else { Ok(()) }
}

/// Applies the next record; none at the end of what is announced. `joined` says what it read of the manifest, and in
/// which epoch, when that is done.
fn follow_record(redo: &mut Redo, reader: &mut LogReader, joined: Option<(u64, u32)>) -> Result<Option<Came>> {
    let told_edit = reader.told_edit();
    let Some(entry) = reader.next()? else { return Ok(None) };
    if let Some((edits, epoch)) = joined
        && entry.epoch != epoch
        && told_edit < edits
        && !active(Fault::FOLLOW_LOST_EDIT)
    {
        let what = format!("the writer opened again and may have lost edits {told_edit} to {edits} of its manifest");
        return Err(Error::new(Code::UndefinedFile, what).hint("join anew: the manifest has what it kept"));
    }
    let Record::Layout { edit, switch } = entry.record else {
        return redo.record(&entry).map(|ts| Some(ts.map_or(Came::Part, Came::Commit)));
    };
    let decoded = LayoutSwitch::decode(switch);
    let switch = decoded.ok_or_else(|| Error::corrupt(format!("edit {edit} of the manifest in the log is damaged")))?;
    follow_switch(redo, edit, &switch)?;
    Ok(Some(Came::Part))
}

/// Does with the files of a table as the writer did (follow 3).
fn follow_switch(redo: &Redo, number: u64, switch: &LayoutSwitch) -> Result<()> {
    let Redo { services, catalog, .. } = redo;
    let id = match switch {
        LayoutSwitch::Edit(edit) => edit.table,
        LayoutSwitch::Forget(id) => *id,
        LayoutSwitch::Anew => TableId(0),
    };
    // Of an index that is being made nobody knows yet: its commit opens it with what was told by then.
    let relation = catalog.by_id(id);
    if !services.manifest.follow(number, switch, relation.is_some())? {
        return Ok(());
    }
    if let LayoutSwitch::Edit(edit) = switch {
        // Behind the last commit there may be timestamps of commits that failed: the cut has them behind it.
        services.timeline.recover_to(edit.cut);
    }
    match (switch, relation) {
        (LayoutSwitch::Edit(edit), _) if id == TableId(0) => {
            catalog.set_durable_cut(edit.cut);
            catalog.prune_versions();
            forget_unseen(redo);
            Ok(())
        }
        (LayoutSwitch::Edit(edit), Some(relation)) => relation.upkeep().follow(&FileSwitch {
            cut: edit.cut,
            added: edit.added.clone(),
            removed: edit.removed.clone(),
            payload: edit.payload.clone(),
        }),
        (LayoutSwitch::Forget(_), _) => {
            forget_unseen(redo);
            Ok(())
        }
        (LayoutSwitch::Edit(_) | LayoutSwitch::Anew, _) => Ok(()),
    }
}

/// Lets go of dropped relations that the writer has let go of, and that no snapshot here sees.
fn forget_unseen(redo: &Redo) {
    let Redo { services, catalog, .. } = redo;
    let known: BTreeSet<TableId> = services.manifest.files().into_iter().map(|(id, _)| id).collect();
    for relation in catalog.unseen() {
        if !known.contains(&relation.id()) {
            relation.upkeep().drop_files();
            catalog.remove(relation.id());
        }
    }
}
