//! Intervals whose smaller fields are brought below the next larger one, all with one sign.
//!
//! ```text
//!   justify_hours('27:00:00')          1 day 03:00:00
//!   justify_days('35 days')            1 mon 5 days
//!   justify_interval('1 mon -1 hour')  29 days 23:00:00
//! ```

use weft_format::interval::{DAY_MICROS, MONTH_DAYS};
use weft_format::{Interval, Result, Value};

use super::super::builtin::Call;
use super::made::interval_range;

/// Months, days and microseconds, wide enough for sums of theirs.
struct Fields {
    months: i64,
    days: i64,
    micros: i64,
}

impl Fields {
    fn of(interval: Interval) -> Fields {
        Fields { months: interval.months.into(), days: interval.days.into(), micros: interval.micros }
    }

    /// Whole days of the hours go to the days.
    fn carry_hours(&mut self) {
        self.days += self.micros / DAY_MICROS;
        self.micros %= DAY_MICROS;
    }

    /// Whole months of the days go to the months; an error when months cannot hold them.
    fn carry_days(&mut self) -> Result<()> {
        self.months += self.days / MONTH_DAYS;
        self.days %= MONTH_DAYS;
        i32::try_from(self.months).map(|_| ()).map_err(|_| interval_range())
    }

    fn value(&self) -> Result<Value> {
        let months = i32::try_from(self.months).map_err(|_| interval_range())?;
        let days = i32::try_from(self.days).map_err(|_| interval_range())?;
        Ok(Value::Interval(Interval { months, days, micros: self.micros }))
    }
}

/// Two fields with one sign: one of the higher field is so many of the lower one, whose sign is `sign`.
fn with_one_sign(high: &mut i64, low: &mut i64, size: i64, sign: i64) {
    if *high > 0 && sign < 0 {
        *high -= 1;
        *low += size;
    } else if *high < 0 && sign > 0 {
        *high += 1;
        *low -= size;
    }
}

pub(super) fn justify_hours(call: &Call<'_>) -> Result<Value> {
    let mut fields = Fields::of(call.interval(0));
    fields.carry_hours();
    let sign = fields.micros.signum();
    with_one_sign(&mut fields.days, &mut fields.micros, DAY_MICROS, sign);
    fields.value()
}

pub(super) fn justify_days(call: &Call<'_>) -> Result<Value> {
    let mut fields = Fields::of(call.interval(0));
    fields.carry_days()?;
    let sign = fields.days.signum();
    with_one_sign(&mut fields.months, &mut fields.days, MONTH_DAYS, sign);
    fields.value()
}

pub(super) fn justify_interval(call: &Call<'_>) -> Result<Value> {
    let mut fields = Fields::of(call.interval(0));
    fields.carry_hours();
    fields.carry_days()?;
    let sign = if fields.days == 0 { fields.micros.signum() } else { fields.days.signum() };
    with_one_sign(&mut fields.months, &mut fields.days, MONTH_DAYS, sign);
    let sign = fields.micros.signum();
    with_one_sign(&mut fields.days, &mut fields.micros, DAY_MICROS, sign);
    fields.value()
}
