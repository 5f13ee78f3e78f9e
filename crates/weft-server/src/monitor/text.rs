//! Prometheus' text format, version 0.0.4.
//!
//! ```text
//!   # HELP weft_statements_total Statements that have ended.
//!   # TYPE weft_statements_total counter
//!   weft_statements_total{engine="point"} 17
//! ```

use std::fmt::{Display, Write};

/// A page under the making.
#[derive(Default)]
pub(super) struct Page {
    text: String,
}

/// Names and values of labels.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    /// Begins a family of `kind`: counter, gauge or histogram.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A sample of the family.
    pub(super) fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.text.push_str(name);
        for (number, (label, of)) in labels.iter().enumerate() {
            let of = of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{}{label}=\"{of}\"", if number == 0 { "{" } else { "," });
        }
        self.text.push_str(if labels.is_empty() { " " } else { "} " });
        let _ = writeln!(self.text, "{value}");
    }

    /// A family of one sample.
    pub(super) fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// The samples of a histogram: `counts` of what took at most 1, 2, 4, ... microseconds, the last of all the rest.
    pub(super) fn histogram(&mut self, name: &str, labels: Labels<'_>, counts: &[u64], nanos: u64) {
        let mut below = 0;
        let bucket = format!("{name}_bucket");
        for (class, count) in counts[..counts.len() - 1].iter().enumerate() {
            below += count;
            let bound = ((1u64 << class) as f64 / 1e6).to_string();
            self.sample(&bucket, &[labels, &[("le", bound.as_str())]].concat(), below);
        }
        below += counts[counts.len() - 1];
        self.sample(&bucket, &[labels, &[("le", "+Inf")]].concat(), below);
        self.sample(&format!("{name}_sum"), labels, nanos as f64 / 1e9);
        self.sample(&format!("{name}_count"), labels, below);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}
