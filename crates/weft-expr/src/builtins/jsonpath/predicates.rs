//! Conditions: true, false or unknown.
//!
//! ```text
//!   $.a[*] > 2        over {"a": [1, "x", 3]}: lax true, for 3 is; strict unknown, for "x" cannot be compared
//!   $.b == null       over {}: lax false, for there is nothing; strict unknown
//! ```
//!
//! 1. A comparison of lists holds if it does of some pair. In strict mode all pairs are compared, and a pair that
//!    cannot be makes it unknown; in lax mode it is unknown only if no pair is true.

use std::cmp::Ordering;

use weft_format::Result;

use super::item::Item;
use super::numbers::compare as compare_numbers;
use super::path::{Comparison, Predicate, Step};
use super::walk::{Found, Outcome, Walk};

impl<'a> Walk<'a> {
    /// Whether a condition holds; none is unknown.
    pub(super) fn truth(&mut self, predicate: &'a Predicate) -> Result<Option<bool>> {
        self.deeper(|walk| walk.truth_of(predicate))
    }

    fn truth_of(&mut self, predicate: &'a Predicate) -> Result<Option<bool>> {
        match predicate {
            Predicate::All(all) => self.connected(all, false),
            Predicate::Any(all) => self.connected(all, true),
            Predicate::Not(inner) => Ok(self.truth(inner)?.map(|truth| !truth)),
            Predicate::IsUnknown(inner) => Ok(Some(self.truth(inner)?.is_none())),
            Predicate::Compare(comparison, left, right) => {
                let Some(left) = self.quiet_items(left, true)? else { return Ok(None) };
                let Some(right) = self.quiet_items(right, true)? else { return Ok(None) };
                self.pairs(&left, &right, |walk, a, b| walk.compared(*comparison, a, b))
            }
            Predicate::StartsWith(whole, start) => {
                let Some(whole) = self.quiet_items(whole, true)? else { return Ok(None) };
                let Some(start) = self.quiet_items(start, false)? else { return Ok(None) };
                self.pairs(&whole, &start, |_, whole, start| {
                    Ok(match (whole, start) {
                        (Item::Text(whole), Item::Text(start)) => Some(whole.starts_with(&**start)),
                        _ => None,
                    })
                })
            }
            Predicate::LikeRegex(pattern) => {
                let matcher = &pattern.matcher;
                let Some(texts) = self.quiet_items(&pattern.texts, true)? else { return Ok(None) };
                self.pairs(&texts, &[Item::Null], |walk, text, _| match text {
                    Item::Text(text) => {
                        walk.spend(text.len())?;
                        matcher.is_match(text).map(Some)
                    }
                    _ => Ok(None),
                })
            }
            Predicate::Exists(chain) => {
                let mut all = Vec::new();
                let list = if self.is_lax { None } else { Some(&mut all) };
                let outcome = self.quiet(|walk| walk.chain(chain, list))?;
                Ok(match outcome {
                    Outcome::Failed => None,
                    outcome => Some(if self.is_lax { outcome == Outcome::Found } else { !all.is_empty() }),
                })
            }
        }
    }

    /// Conditions of which one may decide; the first that is unknown or the last that is not makes the rest.
    fn connected(&mut self, all: &'a [Predicate], decides: bool) -> Result<Option<bool>> {
        let mut truth = Some(!decides);
        for predicate in all {
            match self.truth(predicate)? {
                Some(found) if found == decides => return Ok(Some(decides)),
                Some(_) => {}
                None => truth = None,
            }
        }
        Ok(truth)
    }

    /// With errors suppressed.
    fn quiet<T>(&mut self, then: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let tells = std::mem::replace(&mut self.tells, false);
        let result = then(self);
        self.tells = tells;
        result
    }

    fn quiet_items(&mut self, chain: &'a [Step], unwrap: bool) -> Result<Option<Vec<Item<'a>>>> {
        self.quiet(|walk| walk.items(chain, unwrap))
    }

    /// What a chain finds, arrays taken apart in lax mode if they may be; none is an error that is suppressed.
    pub(super) fn items(&mut self, chain: &'a [Step], unwrap: bool) -> Result<Option<Vec<Item<'a>>>> {
        let mut found = Vec::new();
        if self.chain(chain, Some(&mut found))? == Outcome::Failed {
            return Ok(None);
        }
        let has_arrays = found.iter().any(|item| matches!(item, Item::Array(_)));
        if !unwrap || !self.is_lax || !has_arrays {
            return Ok(Some(found));
        }
        let mut all = Vec::with_capacity(found.len());
        for item in found {
            match item {
                Item::Array(array) => {
                    let list: Found<'_, 'a> = Some(&mut all);
                    self.each(&[], &array, list, false)?;
                }
                item => all.push(item),
            }
        }
        Ok(Some(all))
    }

    /// Whether a test holds of some pair.
    fn pairs(
        &mut self,
        left: &[Item<'a>],
        right: &[Item<'a>],
        test: impl Fn(&mut Self, &Item<'a>, &Item<'a>) -> Result<Option<bool>>,
    ) -> Result<Option<bool>> {
        let (mut is_true, mut is_unknown) = (false, false);
        for a in left {
            for b in right {
                self.spend(1)?;
                match test(self, a, b)? {
                    None if !self.is_lax => return Ok(None),
                    None => is_unknown = true,
                    Some(true) if self.is_lax => return Ok(Some(true)),
                    Some(true) => is_true = true,
                    Some(false) => {}
                }
            }
        }
        Ok(if is_true || !is_unknown { Some(is_true) } else { None })
    }

    fn compared(&self, comparison: Comparison, a: &Item<'a>, b: &Item<'a>) -> Result<Option<bool>> {
        let order = match (a, b) {
            (Item::Null, Item::Null) => Some(Ordering::Equal),
            (Item::Null, _) | (_, Item::Null) => return Ok(Some(comparison == Comparison::NotEqual)),
            (Item::Bool(a), Item::Bool(b)) => Some(a.cmp(b)),
            (Item::Number(a), Item::Number(b)) => Some(compare_numbers(a, b)),
            (Item::Text(a), Item::Text(b)) => Some(a.cmp(b)),
            (Item::Moment(a), Item::Moment(b)) => a.compare(b, self.session)?,
            _ => None,
        };
        Ok(order.map(|order| match comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }))
    }
}
