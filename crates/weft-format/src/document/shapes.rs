//! Documents of the five shapes that the paper measures, from a seed: for tests and benchmarks.
//!
//! ```text
//!   cell 7 columns, 141 B · sensors 16, 3.8 KB · tweet_1 933, 5.3 KB · wos 296, 6.2 KB · tweet_2 275, 2.7 KB
//!
//!   template   id:i name{first:s last?:s} tags:[s] orgs*{name:s}
//!   document   {"id": 7, "name": {"first": "tatino"}, "orgs": {"name": "lo"}, "tags": ["be", "ruso"]}
//! ```
//!
//! A template names members with their kinds: `i` integer, `f` decimal, `s` short text, `t` long text, `c` one of few
//! texts, `b` boolean, `d` rising time; `{}` an object, `[]` an array of objects, `:[k]` an array of values, `*{}` an
//! object or an array of objects, as converters from XML make; `?` sometimes missing, `??` mostly, `~` sometimes null,
//! `#n` so many members.
//!
//! Source: Alkowaileet and Carey (VLDB 2022), Table 1. The data of the paper is not public: sizes, kinds of values and
//! numbers of columns are its, the fields of sensors are those of its sketch.

use crate::document::text::{compare_keys, quote};

/// A shape of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Calls of telephones: flat.
    Cell,
    /// Reports of sensors, with a hundred readings each.
    Sensors,
    /// Tweets of 2020, with the tweets that they are about.
    Tweet1,
    /// Publications, converted from XML: objects where there is one, arrays where there are several.
    Wos,
    /// Tweets of 2016.
    Tweet2,
}

/// Documents of one shape.
pub struct Shapes {
    shape: Shape,
    fields: Vec<Field>,
    random: Random,
    number: i64,
    time: i64,
    temperature: i64,
}

const CELL: &str = "id:i caller:c callee:s start:d duration:i tower:c cost:f";

const USER: &str = "id:i id_str:s name:s screen_name:s location?:s description?~:t url?~:s protected:b verified:b \
    followers_count:i friends_count:i listed_count:i favourites_count:i statuses_count:i created_at:s lang~:c \
    geo_enabled:b profile_image_url:s profile_banner_url?:s default_profile:b";

const ENTITIES: &str = "entities{hashtags[text:c indices:[i]] urls[url:s expanded_url:s display_url:s indices:[i]] \
    user_mentions[id:i id_str:s screen_name:s name:s indices:[i]] media?[id:i url:s type:c sizes{small{w:i h:i} \
    large{w:i h:i}}]}";

const PLACE: &str = "place?~{id:s url:s place_type:c name:s full_name:s country_code:c country:c \
    bounding_box{type:c coordinates[x:f y:f]}}";

const STATUS: &str = "id:i id_str:s created_at:s timestamp:d text:t source:c truncated:b lang:c favorited:b \
    retweeted:b is_quote_status:b reply_count:i retweet_count:i favorite_count:i in_reply_to_status_id~:i \
    in_reply_to_screen_name~:s possibly_sensitive?:b filter_level:c";

const WOS: &str = "id:i UID:s static_data{summary{EWUID{WUID{coll_id:c} edition{value:c}} \
    pub_info{pubyear:i pubmonth:c pubtype:c vol?:i issue?:i has_abstract:c sortdate:s page{begin:i end:i page_count:i \
    content:s}} titles{count:i title[type:c content:s]} names{count:i name*{seq_no:i role:c reprint?:c dais_id:s \
    display_name:s full_name:s last_name:s first_name:s email_addr?:s}} doctypes{count:i doctype:c} \
    publishers{publisher{address_spec{addr_no:i full_address:s city:c} names{name{seq_no:i role:c full_name:s}}}}} \
    fullrecord_metadata{languages{count:i language{type:c content:c}} refs{count:i} \
    addresses{count:i address_name*{address_spec{addr_no:i full_address:s city:c state?:c country:c zip?:s \
    organizations{count:i organization:[s]}} names?*{count:i name*{seq_no:i display_name:s}}}} \
    category_info{headings{count:i heading:c} subheadings{count:i subheading:c} subjects{count:i \
    subject[ascatype:c code:c content:c]}} abstracts{abstract*{abstract_text{count:i p:t}}} \
    keywords?{count:i keyword:[s]} fund_ack?{fund_text{p:t} grants{count:i grant*{grant_agency:s \
    grant_ids?{count:i grant_id:s}}}} references?[uid:s year:i citedAuthor:s citedTitle?:t citedWork:s]} \
    item{avail:c bib_id:s ids{avail:c content:s} keywords_plus?{count:i keyword:[s]}} \
    contributors?*{count:i contributor*{name{seq_no:i role:c first_name:s last_name:s researcher_id?:s orcid?:s}}}} \
    dynamic_data{citation_related{tc_list{silo_tc{coll_id:c local_count:i}}} \
    cluster_related{identifiers{identifier*{type:c value:s}} metadata#131:c}}";

const SENSORS: &str = "id:i sensor_id:c report_time:d status:c connectivity{rssi:i ssid_hash:i up:i down:i} \
    battery{mv:i pct:i cycles:i} loc{lat:f lon:f} fw:c readings@[temp:m ts:d]";

/// One member of a template.
struct Field {
    name: String,
    kind: Kind,
    /// Of a hundred documents, how many do not have it.
    missing: u64,
    null: u64,
}

enum Kind {
    Plain(char),
    Object(Vec<Field>),
    Objects(Vec<Field>),
    /// A hundred of them.
    Many(Vec<Field>),
    OneOrMany(Vec<Field>),
    Values(char),
}

impl Shape {
    /// All five, as the paper lists them.
    pub const ALL: [Shape; 5] = [Shape::Cell, Shape::Sensors, Shape::Tweet1, Shape::Wos, Shape::Tweet2];

    /// How many columns the documents have.
    pub fn column_count(self) -> usize {
        match self {
            Shape::Cell => 7,
            Shape::Sensors => 16,
            Shape::Tweet1 => 933,
            Shape::Wos => 296,
            Shape::Tweet2 => 275,
        }
    }

    fn template(self) -> String {
        let status = |about: &str| format!("{STATUS} user{{{USER}}} {ENTITIES} {PLACE} {about}");
        match self {
            Shape::Cell => CELL.into(),
            Shape::Sensors => SENSORS.into(),
            Shape::Wos => WOS.into(),
            Shape::Tweet2 => status(&format!("retweeted_status?{{{}}} scopes#141:c", status(""))),
            Shape::Tweet1 => {
                let quoted = status(&format!("extended_tweet??{{full_text:t {ENTITIES}}}"));
                let retweeted =
                    status(&format!("quoted_status??{{{quoted}}} extended_tweet??{{full_text:t {ENTITIES}}}"));
                let about = "quoted_status??{QUOTED} retweeted_status??{RETWEETED} context_annotations#608:c";
                status(&about.replace("QUOTED", &quoted).replace("RETWEETED", &retweeted))
            }
        }
    }
}

impl Shapes {
    /// Documents that are the same for the same seed.
    pub fn new(shape: Shape, seed: u64) -> Shapes {
        let template = shape.template();
        let mut tokens = template.as_str();
        let fields = fields(&mut tokens);
        let random = Random(seed ^ 0x5eed);
        Shapes { shape, fields, random, number: 0, time: 1_556_496_000_000, temperature: 2_000 }
    }

    /// The next document, in the text of jsonb.
    pub fn next_text(&mut self) -> String {
        let mut out = Vec::new();
        let fields = std::mem::take(&mut self.fields);
        self.object(&fields, &mut out);
        self.fields = fields;
        self.number += 1;
        String::from_utf8(out).unwrap_or_default()
    }

    fn object(&mut self, fields: &[Field], out: &mut Vec<u8>) {
        out.push(b'{');
        let mut is_first = true;
        for field in fields {
            // The first documents have everything.
            if self.number >= 2 && self.random.below(100) < field.missing {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.extend_from_slice(b", ");
            }
            quote(&field.name, out);
            out.extend_from_slice(b": ");
            if self.number >= 2 && self.random.below(100) < field.null {
                out.extend_from_slice(b"null");
                continue;
            }
            match &field.kind {
                Kind::Plain('i') if field.name == "id" => out.extend_from_slice(self.number.to_string().as_bytes()),
                Kind::Plain(kind) => self.plain(*kind, out),
                Kind::Object(fields) => self.object(fields, out),
                Kind::Objects(fields) => {
                    let count = 1 + self.random.below(3);
                    self.list(count, out, &mut |shapes, out| shapes.object(fields, out));
                }
                Kind::Many(fields) => {
                    let count = 80 + self.random.below(41);
                    self.list(count, out, &mut |shapes, out| shapes.object(fields, out));
                }
                Kind::Values(kind) => {
                    let count = 1 + self.random.below(3);
                    self.list(count, out, &mut |shapes, out| shapes.plain(*kind, out));
                }
                Kind::OneOrMany(fields) => match self.number {
                    1 => self.object(fields, out),
                    number if number >= 2 && self.random.below(2) == 0 => self.object(fields, out),
                    _ => {
                        let count = 2 + self.random.below(2);
                        self.list(count, out, &mut |shapes, out| shapes.object(fields, out));
                    }
                },
            }
        }
        out.push(b'}');
    }

    fn list(&mut self, count: u64, out: &mut Vec<u8>, each: &mut dyn FnMut(&mut Shapes, &mut Vec<u8>)) {
        out.push(b'[');
        for at in 0..count {
            if at > 0 {
                out.extend_from_slice(b", ");
            }
            each(self, out);
        }
        out.push(b']');
    }

    fn plain(&mut self, kind: char, out: &mut Vec<u8>) {
        let written = match kind {
            'i' => (self.random.below(1 << 20) >> self.random.below(12)).to_string(),
            'f' => format!("{}.{}", self.random.below(180), 1 + self.random.below(9)),
            'd' => {
                self.time += if self.shape == Shape::Sensors { 500 + self.random.below(1_000) as i64 } else { 1 };
                self.time.to_string()
            }
            'm' => {
                // Of an autoregressive process, in tenths of a degree or hundredths.
                self.temperature += self.random.below(41) as i64 - 20 - (self.temperature - 2_000) / 50;
                let (whole, part) = (self.temperature / 100, (self.temperature % 100).unsigned_abs());
                match part {
                    0 => format!("{whole}.0"),
                    part if part % 10 == 0 => format!("{whole}.{}", part / 10),
                    part => format!("{whole}.{part:02}"),
                }
            }
            'b' => (self.random.below(4) == 0).to_string(),
            'c' => return quote(&word(self.random.below(48)), out),
            's' => return self.words(1, out),
            _ => {
                let count = if self.shape == Shape::Wos { 90 } else { 15 } + self.random.below(30);
                return self.words(count, out);
            }
        };
        out.extend_from_slice(written.as_bytes());
    }

    fn words(&mut self, count: u64, out: &mut Vec<u8>) {
        let mut text = String::new();
        for at in 0..=count {
            if at > 0 {
                text.push(' ');
            }
            // Few words are frequent.
            let spread = 1 << (4 + self.random.below(12));
            text.push_str(&word(self.random.below(spread)));
        }
        quote(&text, out);
    }
}

/// A word for a number.
fn word(number: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ta", "ti", "no", "lo", "be", "ru", "so", "ka", "mi", "sen", "dor", "val", "ter", "ing", "é", "um"];
    let mut rest = number + 17;
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    word
}

/// Reads the members of a template, ordered as jsonb orders keys.
fn fields(template: &mut &str) -> Vec<Field> {
    let mut fields = Vec::new();
    loop {
        *template = template.trim_start();
        let end = template.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(template.len());
        if end == 0 {
            break;
        }
        let (name, rest) = template.split_at(end);
        *template = rest;
        let (mut missing, mut null, mut count) = (0, 0, None);
        loop {
            let mut chars = template.chars();
            match chars.next() {
                Some('?') => missing = 50 + missing * 7 / 10,
                Some('~') => null = 40,
                Some('#') => {
                    let digits = template[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
                    count = template[1..=digits].parse::<usize>().ok();
                    *template = &template[1 + digits..];
                    continue;
                }
                _ => break,
            }
            *template = chars.as_str();
        }
        for number in 0..count.unwrap_or(1) {
            let mut here = *template;
            let name = if count.is_some() { format!("{name}_{number}") } else { name.to_owned() };
            let missing = if count.is_some() { 90 } else { missing };
            fields.push(Field { name, kind: kind(&mut here), missing, null });
            if number + 1 == count.unwrap_or(1) {
                *template = here;
            }
        }
    }
    fields.sort_by(|a, b| compare_keys(&a.name, &b.name));
    fields
}

fn kind(template: &mut &str) -> Kind {
    let open = template.find(['{', '[', ':']).map_or("", |at| &template[..=at]);
    *template = &template[open.len()..];
    let plain = |template: &mut &str| {
        let kind = template.chars().next().unwrap_or('s');
        *template = &template[kind.len_utf8()..];
        kind
    };
    if open == ":" {
        if let Some(rest) = template.strip_prefix('[') {
            *template = rest;
            let kind = plain(template);
            *template = &template[1..];
            return Kind::Values(kind);
        }
        return Kind::Plain(plain(template));
    }
    let within = fields(template);
    *template = &template[1..];
    match open {
        "{" => Kind::Object(within),
        "[" => Kind::Objects(within),
        "@[" => Kind::Many(within),
        _ => Kind::OneOrMany(within),
    }
}

/// Numbers that look random, the same for the same seed (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
