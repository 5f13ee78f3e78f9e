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
pub struct Page {
    text: String,
}

/// Names and values of labels.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    /// Begins a family of `kind`: counter, gauge or histogram.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A sample of the family.
    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.text.push_str(name);
        for (number, (label, of)) in labels.iter().enumerate() {
            let of = of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{}{label}=\"{of}\"", if number == 0 { "{" } else { "," });
        }
        self.text.push_str(if labels.is_empty() { " " } else { "} " });
        let _ = writeln!(self.text, "{value}");
    }

    /// A family of one sample.
    pub fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// The samples of a histogram: `counts` of what took at most 1, 2, 4, ... microseconds, the last of all the rest.
    pub fn histogram(&mut self, name: &str, labels: Labels<'_>, counts: &[u64], nanos: u64) {
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

    /// The page as it is sent.
    pub fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::samples;

    #[test]
    fn the_page_reads_as_the_format() {
        let mut page = Page::default();
        page.single("a", "gauge", "One.", 1.5);
        page.family("b", "histogram", "Two.");
        page.histogram("b", &[("x", "q\"\\\n")], &[1, 2, 3], 4_000_000_000);
        let read = samples(&page.finish());
        assert_eq!(read["a"], 1.5);
        let of = |end: &str| read[&format!("b{end}")];
        assert_eq!(of("_bucket{x=\"q\\\"\\\\\\n\",le=\"0.000001\"}"), 1.0);
        assert_eq!(of("_bucket{x=\"q\\\"\\\\\\n\",le=\"0.000002\"}"), 3.0);
        assert_eq!(of("_bucket{x=\"q\\\"\\\\\\n\",le=\"+Inf\"}"), 6.0);
        assert_eq!((of("_count{x=\"q\\\"\\\\\\n\"}"), of("_sum{x=\"q\\\"\\\\\\n\"}")), (6.0, 4.0));
    }
}
