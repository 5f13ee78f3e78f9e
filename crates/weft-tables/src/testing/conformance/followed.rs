//! An engine that follows the suite's: after all that happened it has the rows of the model, too, whatever the method
//! does with its files.

use weft_format::{Code, Error};
use weft_kernel::{Follower, IsolationLevel, Transaction};

use super::{Suite, TABLE, engine_options, methods};

impl Suite {
    /// Follows, joins where it cannot, and looks at what is there.
    pub(super) fn look_at_follower(&mut self) {
        self.engine.flush().expect("flushes");
        let announced = self.engine.announced();
        let followed = self.follower.as_mut().map(|follower| follower.follow(announced));
        let is_lost = |error: &Error| {
            assert_eq!(error.code(), Code::UndefinedFile, "the follower cannot go on: {error}");
            true
        };
        if followed.is_none_or(|followed| followed.as_ref().err().is_some_and(is_lost)) {
            self.followed.clear();
            self.went_on = self.went_on.saturating_sub(1);
            self.follower = None;
            let (methods, options) = (methods(&self.method), engine_options(&self.options));
            let joined = Follower::join(self.env.clone(), &self.dir, methods, options, &|| announced);
            self.follower = Some(joined.expect("joins"));
        }
        self.went_on += 1;
        let engine = self.follower.as_ref().expect("it has joined").engine().clone();
        assert_eq!(engine.published(), self.engine.published());
        assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
        let now = engine.begin().expect("begins");
        self.look_at_followed(&now);
        for mut txn in std::mem::take(&mut self.followed) {
            // A snapshot that is older than the files is refused, and no wrong answer is given.
            let table = txn.table(TABLE).expect("was there");
            let key = self.model.keys().next().cloned().unwrap_or_default();
            match table.table.read_row(&key, txn.read_ts()) {
                Err(error) => assert_eq!(error.code(), Code::SerializationFailure, "{error}"),
                Ok(_) => {
                    self.look_at_followed(&txn);
                    // Others read it, too, as long as it is open.
                    let exported = txn.export_snapshot().expect("exports what it reads");
                    let mut other = engine.begin_at(IsolationLevel::RepeatableRead).expect("begins");
                    other.import_snapshot(exported).expect("imports what is exported");
                    assert_eq!(other.read_ts(), txn.read_ts());
                    self.look_at_followed(&other);
                    self.followed.push(txn);
                }
            }
        }
        if self.followed.len() < 3 && self.random.below(3) == 0 {
            self.followed.push(now);
        }
    }

    fn look_at_followed(&mut self, txn: &Transaction) {
        let table = txn.table(TABLE).expect("the table is followed");
        let state = self.model.rows(txn.read_ts());
        self.look_at(&table, txn.view(&table).expect("it is kept"), &state);
        let keys: Vec<Vec<u8>> = self.model.keys().take(40).cloned().collect();
        keys.iter().for_each(|key| self.look_at_key(&table, txn.read_ts(), key));
        self.look_at_versions(&table, txn);
    }
}
