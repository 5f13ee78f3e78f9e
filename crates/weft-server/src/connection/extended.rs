//! The extended protocol: Parse, Bind, Describe, Execute, Close.

use std::sync::Arc;

use weft::{DataType, Prepared, Session, Tag};
use weft_format::{Code, Error, Result};
use weft_sql::{Client, oids};

use super::Connection;
use super::copy::Sink;
use super::portal::{Named, Portal, State, Statement, undefined_portal, undefined_statement};
use super::rows;

impl Connection {
    /// Parse: makes a prepared statement.
    pub(super) fn parse(&mut self, name: String, sql: &str, named: Vec<u32>) -> Result<()> {
        if !name.is_empty() && self.statements.contains_key(&name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(self.session.fail_with(Error::new(Code::DuplicatePrepared, message)));
        }
        let types: Vec<Option<DataType>> = named.iter().map(|&oid| oids::type_of(oid)).collect();
        let prepared = self.session.prepare_for(sql, &types)?;
        self.session.check_cancelled()?;
        let mut oids: Vec<u32> = match &prepared {
            Some(prepared) => prepared.param_types().into_iter().map(oids::oid_of).collect(),
            None => Vec::new(),
        };
        for (oid, &named) in oids.iter_mut().zip(&named) {
            if named != 0 && named != oids::UNKNOWN {
                *oid = named;
            }
        }
        if !name.is_empty() {
            self.session.note_statement(&name, true);
        }
        self.statements.insert(name, Arc::new(Statement { prepared, oids }));
        self.channel.out.empty(b'1');
        Ok(())
    }

    /// Bind: keeps a portal that was made of the message.
    pub(super) fn bind(&mut self, name: String, made: Result<Portal>) -> Result<()> {
        let portal = made.map_err(|error| self.session.fail_with(error))?;
        if !name.is_empty() && self.portals.contains_key(&name) {
            let message = format!("cursor \"{name}\" already exists");
            return Err(self.session.fail_with(Error::new(Code::DuplicateCursor, message)));
        }
        self.portals.insert(name, portal);
        self.channel.out.empty(b'2');
        Ok(())
    }

    /// Describe: what a statement takes and gives, or a portal gives.
    pub(super) fn describe(&mut self, named: &Named) -> Result<()> {
        let (statement, formats) = match named {
            Named::Statement(name) => {
                let found = self.statements.get(name).map(Arc::clone);
                let statement = found.ok_or_else(|| self.session.fail_with(undefined_statement(name)))?;
                self.channel.out.parameters(&statement.oids);
                (statement, Vec::new())
            }
            Named::Portal(name) => match self.portals.get(name) {
                Some(portal) => (Arc::clone(&portal.statement), portal.formats.clone()),
                // A cursor of DECLARE is a portal, too.
                None => {
                    let Some(columns) = self.session.cursor_columns(name) else {
                        return Err(self.session.fail_with(undefined_portal(name)));
                    };
                    rows::describe(&mut self.channel.out, &columns, &[]);
                    return Ok(());
                }
            },
        };
        let columns = match &statement.prepared {
            Some(prepared) => self.session.columns_of(prepared)?,
            None => None,
        };
        match columns {
            Some(columns) => rows::describe(&mut self.channel.out, &columns, &formats),
            None => self.channel.out.empty(b'n'),
        }
        Ok(())
    }

    /// Execute: runs a portal, or goes on with one that is suspended.
    pub(super) fn execute(&mut self, name: &str, rows_max: u32) -> Result<()> {
        let Some(mut portal) = self.portals.remove(name) else {
            return Err(self.session.fail_with(undefined_portal(name)));
        };
        let result = self.execute_portal(&mut portal, rows_max);
        if result.is_ok() {
            self.portals.insert(name.to_owned(), portal);
        }
        result
    }

    fn execute_portal(&mut self, portal: &mut Portal, rows_max: u32) -> Result<()> {
        let Some(prepared) = portal.statement.prepared.clone() else {
            self.channel.out.empty(b'I');
            return Ok(());
        };
        if let State::Ready = portal.state {
            // A Sync that has arrived already: the statement is a transaction of its own (connection 2).
            let alone = rows_max == 0 && self.channel.next_tag() == Some(b'S');
            if !alone && !Session::runs_outside_transactions(&prepared) {
                self.session.begin_implicit()?;
            }
            if rows_max == 0 {
                portal.state = State::Done;
                return self.run_portal(&prepared, portal);
            }
            let mut sink = Sink::new(&mut self.channel, &portal.formats, false).collecting();
            let outcome = self.session.execute_for(&prepared, &portal.values, &mut sink)?;
            portal.state = State::Suspended(outcome, 0);
        }
        self.resume(portal, rows_max)
    }

    /// Runs a portal to its end; rows go out while it runs.
    fn run_portal(&mut self, prepared: &Prepared, portal: &Portal) -> Result<()> {
        let mut sink = Sink::new(&mut self.channel, &portal.formats, false);
        let outcome = self.session.execute_for(prepared, &portal.values, &mut sink)?;
        sink.finish(&outcome)?;
        if Session::may_change_settings(prepared) {
            self.tell_settings();
        }
        Ok(())
    }

    /// Sends the next rows of a suspended portal.
    fn resume(&mut self, portal: &mut Portal, rows_max: u32) -> Result<()> {
        let State::Suspended(outcome, at) = &mut portal.state else {
            let message = "portal was run to its end already";
            return Err(self.session.fail_with(Error::new(Code::InvalidParameterValue, message)));
        };
        let range = rows::part(*at, outcome.rows.len(), rows_max);
        let mut text = String::new();
        let style = &self.session.settings().style;
        for row in range.clone() {
            let out = &mut self.channel.out;
            rows::write_row(out, &outcome.columns, &outcome.rows, row, (&portal.formats, style), &mut text);
            if self.channel.wants_flush() {
                self.channel.flush()?;
            }
        }
        *at = range.end;
        if range.end < outcome.rows.len() {
            self.channel.out.empty(b's');
            return Ok(());
        }
        let tag = match outcome.tag {
            Tag::Select(_) => Tag::Select(range.len() as u64),
            other => other,
        };
        self.channel.out.complete(&tag.to_string());
        Ok(())
    }

    /// Close: forgets a statement or portal; one that is not there is no error.
    pub(super) fn close(&mut self, named: &Named) {
        match named {
            Named::Statement(name) => {
                self.session.note_statement(name, false);
                self.statements.remove(name);
            }
            Named::Portal(name) => drop(self.portals.remove(name)),
        }
        self.channel.out.empty(b'3');
    }
}
