//! The words of dates (PostgreSQL's `datetktbl`), in any case, ten letters of them.

/// What a word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Month(i64),
    Weekday,
    /// AM or PM.
    Half(bool),
    /// BC or AD.
    Era {
        is_bc: bool,
    },
    Now,
    Yesterday,
    Today,
    Tomorrow,
    /// `allballs`: midnight UTC.
    Zulu,
    Epoch,
    Infinity,
    /// `dst` behind the name of a zone: an hour more.
    Daylight,
    /// The unit of the number that follows.
    Label(Label),
    /// Says nothing: `at`, `on`.
    Filler,
}

/// Before a number: what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Julian,
    /// `t`: a time follows.
    Time,
}

/// The meaning of a word in lower case.
pub(super) fn word(text: &str) -> Option<Word> {
    let text = text.get(..10).unwrap_or(text);
    const MONTHS: [&[&str]; 12] = [
        &["jan", "january"],
        &["feb", "february"],
        &["mar", "march"],
        &["apr", "april"],
        &["may"],
        &["jun", "june"],
        &["jul", "july"],
        &["aug", "august"],
        &["sep", "sept", "september"],
        &["oct", "october"],
        &["nov", "november"],
        &["dec", "december"],
    ];
    if let Some(at) = MONTHS.iter().position(|names| names.contains(&text)) {
        return Some(Word::Month(at as i64 + 1));
    }
    Some(match text {
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday" | "thu"
        | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" => Word::Weekday,
        "am" => Word::Half(false),
        "pm" => Word::Half(true),
        "ad" => Word::Era { is_bc: false },
        "bc" => Word::Era { is_bc: true },
        "now" => Word::Now,
        "yesterday" => Word::Yesterday,
        "today" => Word::Today,
        "tomorrow" => Word::Tomorrow,
        "allballs" => Word::Zulu,
        "epoch" => Word::Epoch,
        "infinity" | "-infinity" | "+infinity" => Word::Infinity,
        "dst" => Word::Daylight,
        "y" => Word::Label(Label::Year),
        "m" => Word::Label(Label::Month),
        "d" => Word::Label(Label::Day),
        "h" => Word::Label(Label::Hour),
        "mm" => Word::Label(Label::Minute),
        "s" => Word::Label(Label::Second),
        "j" | "jd" | "julian" => Word::Label(Label::Julian),
        "t" => Word::Label(Label::Time),
        "at" | "on" => Word::Filler,
        _ => return None,
    })
}
