//! How many values are different: HyperLogLog, and exact while they are few.
//!
//! ```text
//!   hash   1100000011 0000010...      register 771 = 6: the most leading zeros seen there, plus 1
//!   few    [h1, h2, h3]               up to 64 hashes, ascending: the number is exact
//!   many   1,024 registers            standard error 1.04 / √1024 = 3.2 %
//! ```
//!
//! 1. The sketch of a union has the greater of each two registers: rows that are in both count once, in any order.
//! 2. What it is depends on the set of hashes alone.
//!
//! Source: Flajolet and others, "HyperLogLog" (2007); the estimate is Ertl's, "New cardinality estimation algorithms
//! for HyperLogLog sketches" (2017), algorithm 6, which needs neither tables nor thresholds.

use crate::encoding::BlockBuilder;

/// Bits of a hash that choose the register.
const REGISTER_BITS: u32 = 10;
/// How many registers there are.
pub(crate) const REGISTERS: usize = 1 << REGISTER_BITS;
/// The bits of a hash whose leading zeros are counted.
const COUNTED_BITS: usize = u64::BITS as usize - REGISTER_BITS as usize;
/// The greatest value of a register: all counted bits are zero.
pub(crate) const RANK_MAX: u8 = COUNTED_BITS as u8 + 1;
/// Hashes that are kept as they are.
pub(crate) const FEW_MAX: usize = 64;

/// A set of hashes, as far as its size matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch(pub(crate) Seen);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    /// Ascending.
    Few(Vec<u64>),
    Many(Box<[u8; REGISTERS]>),
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch(Seen::Few(Vec::new()))
    }
}

impl Sketch {
    /// Adds the hash of a value ([`crate::bloom::hash_value`]).
    #[inline]
    pub fn insert(&mut self, hash: u64) {
        match &mut self.0 {
            Seen::Many(registers) => raise(registers, hash),
            Seen::Few(hashes) => {
                let Err(at) = hashes.binary_search(&hash) else { return };
                hashes.insert(at, hash);
                if hashes.len() > FEW_MAX {
                    self.0 = Seen::Many(registers_of(hashes));
                }
            }
        }
    }

    /// Adds the values that wait in a builder.
    pub(crate) fn insert_all(&mut self, block: &BlockBuilder) {
        if let Seen::Many(registers) = &mut self.0 {
            return block.each_hash(|hash| raise(registers, hash));
        }
        let mut lately = Lately::default();
        block.each_hash(|hash| {
            if !lately.has(hash) {
                self.insert(hash);
            }
        });
    }

    /// Adds what another has.
    pub fn merge(&mut self, other: &Sketch) {
        match (&mut self.0, &other.0) {
            (_, Seen::Few(hashes)) => hashes.iter().for_each(|&hash| self.insert(hash)),
            (Seen::Many(mine), Seen::Many(others)) => {
                mine.iter_mut().zip(others.iter()).for_each(|(mine, other)| *mine = (*mine).max(*other));
            }
            (Seen::Few(hashes), Seen::Many(others)) => {
                let mut registers = others.clone();
                hashes.iter().for_each(|&hash| raise(&mut registers, hash));
                self.0 = Seen::Many(registers);
            }
        }
    }

    /// About how many different hashes were added.
    pub fn count(&self) -> f64 {
        match &self.0 {
            Seen::Few(hashes) => hashes.len() as f64,
            Seen::Many(registers) => estimate(registers),
        }
    }

    /// Whether the count is exact.
    pub fn is_exact(&self) -> bool {
        matches!(self.0, Seen::Few(_))
    }

    /// The memory behind it, bytes.
    pub fn memory_bytes(&self) -> usize {
        match &self.0 {
            Seen::Few(hashes) => hashes.capacity() * size_of::<u64>(),
            Seen::Many(_) => REGISTERS,
        }
    }
}

/// Hashes that were seen last, each at a place of its own: most values of a column with few are told from new ones by
/// one look.
#[derive(Clone, Debug)]
pub(crate) struct Lately(Box<[u64; LATELY]>);

/// Places for hashes.
const LATELY: usize = 256;

impl Default for Lately {
    fn default() -> Lately {
        // No place is asked for this hash first: place 0 has that of place 1.
        let mut places = Box::new([0; LATELY]);
        places[0] = 1;
        Lately(places)
    }
}

impl Lately {
    /// Whether the hash was seen last at its place; from now on it is.
    #[inline]
    pub(crate) fn has(&mut self, hash: u64) -> bool {
        std::mem::replace(&mut self.0[hash as usize % LATELY], hash) == hash
    }
}

#[inline]
fn raise(registers: &mut [u8; REGISTERS], hash: u64) {
    let register = &mut registers[(hash >> COUNTED_BITS) as usize];
    // The bit below the counted ones ends the zeros.
    let counted = hash << REGISTER_BITS | 1 << (REGISTER_BITS - 1);
    *register = (*register).max(counted.leading_zeros() as u8 + 1);
}

fn registers_of(hashes: &[u64]) -> Box<[u8; REGISTERS]> {
    let mut registers = Box::new([0; REGISTERS]);
    hashes.iter().for_each(|&hash| raise(&mut registers, hash));
    registers
}

fn estimate(registers: &[u8; REGISTERS]) -> f64 {
    let mut counts = [0u32; RANK_MAX as usize + 1];
    registers.iter().for_each(|&register| counts[register as usize] += 1);
    let all = REGISTERS as f64;
    let mut sum = all * tau(1.0 - f64::from(counts[RANK_MAX as usize]) / all);
    for count in counts[1..RANK_MAX as usize].iter().rev() {
        sum = 0.5 * (sum + f64::from(*count));
    }
    sum += all * sigma(f64::from(counts[0]) / all);
    all * all / (2.0 * std::f64::consts::LN_2 * sum)
}

/// What registers that saw nothing add: x + x² · 1 + x⁴ · 2 + ...
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut weight, mut sum) = (1.0, x);
    loop {
        x *= x;
        let before = sum;
        sum += x * weight;
        weight += weight;
        if sum <= before {
            return sum;
        }
    }
}

/// What registers that are full add.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut weight, mut sum) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * weight;
        if sum >= before {
            return sum / 3.0;
        }
    }
}
