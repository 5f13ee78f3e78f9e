//! What PostgreSQL 15 answers.

use weft_format::{DataType, Element};

use super::super::testing::answer;

/// The type of a name as the transcripts have it.
fn type_of(name: &str) -> DataType {
    if let Some(element) = name.strip_suffix("[]") {
        return DataType::Array(Element::of(type_of(element)).expect("it is no array"));
    }
    let (name, limits) = name.split_once('(').unwrap_or((name, ""));
    let mut limits = limits.trim_end_matches(')').split(',').map(|limit| limit.parse::<u8>().unwrap());
    match name {
        "boolean" => DataType::Boolean,
        "smallint" => DataType::SmallInt,
        "integer" => DataType::Integer,
        "bigint" => DataType::BigInt,
        "real" => DataType::Real,
        "double precision" => DataType::DoublePrecision,
        "numeric" => DataType::Numeric { precision: limits.next().unwrap(), scale: limits.next().unwrap() },
        "text" => DataType::Text,
        "varchar" => DataType::Varchar(limits.next().unwrap().into()),
        "bytea" => DataType::Bytea,
        "date" => DataType::Date,
        "timestamp" => DataType::Timestamp,
        "timestamptz" => DataType::TimestampTz,
        "interval" => DataType::Interval,
        other => panic!("no type {other}"),
    }
}

/// Reads `text 'it''s', integer NULL` up to the closing parenthesis.
fn parse_arguments(mut rest: &str) -> Vec<(DataType, Option<String>)> {
    let mut args = Vec::new();
    while !rest.is_empty() {
        if let Some((name, left)) = rest.split_once(" NULL").filter(|(name, _)| !name.contains('\'')) {
            args.push((type_of(name), None));
            rest = left.strip_prefix(", ").unwrap_or(left);
            continue;
        }
        let (name, mut left) = rest.split_once(" '").expect("a type and a value in quotes");
        let mut value = String::new();
        loop {
            let (piece, behind) = left.split_once('\'').expect("the value ends");
            value.push_str(piece);
            left = behind;
            match left.strip_prefix('\'') {
                Some(behind) => {
                    value.push('\'');
                    left = behind;
                }
                None => break,
            }
        }
        args.push((type_of(name), Some(value)));
        rest = left.strip_prefix(", ").unwrap_or(left);
    }
    args
}

/// Answers each line `name(type 'value', ...) = answer` of a transcript. A line that ends in a backslash goes on.
pub(in crate::builtins) fn check(transcript: &str) {
    let transcript = transcript.replace("\\\n", "");
    let lines = transcript.lines().filter(|line| !line.is_empty());
    let wrong: Vec<String> = lines
        .filter_map(|line| {
            let (call, wanted) = line.split_once(") =").expect("a call and an answer");
            let wanted = wanted.strip_prefix(' ').unwrap_or(wanted);
            let (name, args) = call.split_once('(').expect("a name and arguments");
            let args = parse_arguments(args);
            let args: Vec<_> = args.iter().map(|(data_type, text)| (*data_type, text.as_deref())).collect();
            let got = answer(name, &args);
            (got != wanted).then(|| format!("{line}\n    but: {got}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn letters_are_postgresqls() {
    check(
        r"
ascii(text 'x') = 120
ascii(text '') = 0
ascii(text 'é€') = 233
ascii(text '😀') = 128512
chr(integer '65') = A
chr(integer '8364') = €
chr(integer '128512') = 😀
chr(integer '0') = ERROR: null character not permitted
chr(integer '-1') = ERROR: character number must be positive
chr(integer '-2147483648') = ERROR: character number must be positive
chr(integer '1114112') = ERROR: requested character too large for encoding: 1114112
chr(integer '55296') = ERROR: requested character not valid for encoding: 55296
bit_length(text 'jose') = 32
bit_length(text 'é') = 16
bit_length(bytea '\x123456') = 24
octet_length(text 'jösé') = 6
octet_length(varchar(9) '') = 0
initcap(text 'hi THOMAS') = Hi Thomas
initcap(text 'o''neill-SMITH 2nd x_y') = O'Neill-Smith 2nd X_Y
initcap(text 'ÉCOLE élan ßa') = École Élan ßa
initcap(text '') =
left(text 'abcde', integer '2') = ab
left(text 'abcde', integer '-2') = abc
left(text 'abcde', integer '0') =
left(text 'abcde', integer '-9') =
left(text 'äöü', integer '2') = äö
left(text 'äöü', integer '2147483647') = äöü
left(text 'äöü', integer '-2147483648') =
left(text NULL, integer '1') = NULL
right(text 'abcde', integer '2') = de
right(text 'abcde', integer '-2') = cde
right(text 'abcde', integer '0') =
right(text 'abcde', integer '9') = abcde
right(text 'äöü', integer '-1') = öü
right(text 'äöü', integer '2147483647') = äöü
lpad(text 'hi', integer '5', text 'xy') = xyxhi
lpad(text 'hi', integer '7', text 'xy') = xyxyxhi
lpad(text 'hello', integer '3') = hel
lpad(text 'hello', integer '7') =   hello
lpad(text 'hello', integer '-1') =
lpad(text 'hello', integer '9', text '') = hello
lpad(text 'ä', integer '4', text 'öü') = öüöä
lpad(text '', integer '3', text 'ab') = aba
lpad(text 'x', integer '2147483647', text 'yz') = ERROR: requested length too large
rpad(text 'hi', integer '5', text 'xy') = hixyx
rpad(text 'hello', integer '3', text 'z') = hel
rpad(text 'hello', integer '-2147483648', text 'z') =
rpad(text 'ä', integer '4', text 'öü') = äöüö
rpad(text 'x', integer '2147483647', text 'y') = ERROR: requested length too large
repeat(text 'Pg', integer '4') = PgPgPgPg
repeat(text 'Pg', integer '0') =
repeat(text 'Pg', integer '-2147483648') =
repeat(text '', integer '2147483647') =
repeat(text 'x', integer '2147483647') = ERROR: requested length too large
replace(text 'abcdefabcdef', text 'cd', text 'XX') = abXXefabXXef
replace(text 'aaa', text 'aa', text 'b') = ba
replace(text 'abc', text '', text 'x') = abc
replace(text 'abc', text 'b', text '') = ac
replace(text '', text 'b', text 'x') =
replace(text 'äöä', text 'ä', text '€') = €ö€
reverse(text 'abcde') = edcba
reverse(text 'äb€') = €bä
reverse(text '') =
translate(text '12345', text '143', text 'ax') = a2x5
translate(text 'abc', text '', text 'x') = abc
translate(text 'aab', text 'aa', text 'xy') = xxb
translate(text 'äbc', text 'äc', text 'x€zz') = xb€
starts_with(text 'alphabet', text 'alph') = t
starts_with(text 'alphabet', text 'b') = f
starts_with(text 'alphabet', text '') = t
strpos(text 'high', text 'ig') = 2
strpos(text 'äöü', text 'ü') = 3
strpos(text 'abc', text '') = 1
strpos(text '', text 'a') = 0
position(text 'Thomas', text 'om') = 3
position(bytea '\x1234567890', bytea '\x5678') = 3
position(bytea '\x1234', bytea '\x') = 1
position(bytea '\x', bytea '\x01') = 0
position(bytea '\x0101010102', bytea '\x010102') = 3
position(bytea '\x01020102010201', bytea '\x0102010201') = 1
position(bytea '\x0101', bytea '\x010101') = 0
overlay(text 'Txxxxas', text 'hom', integer '2', integer '4') = Thomas
overlay(text 'Txxxxas', text 'hom', integer '2') = Thomxas
overlay(text 'abc', text 'x', integer '0') = ERROR: negative substring length not allowed
overlay(text 'abc', text 'x', integer '2', integer '-5') = axabc
overlay(text 'abc', text 'x', integer '9', integer '1') = abcx
overlay(text 'abc', text 'x', integer '2147483647', integer '1') = ERROR: integer out of range
overlay(text 'abc', text 'x', integer '2147483647', integer '0') = abcx
overlay(text 'abc', text 'x', integer '1', integer '-2147483648') = xabc
overlay(text 'äöü', text '€', integer '2', integer '1') = ä€ü
to_hex(integer '2147483647') = 7fffffff
to_hex(integer '-1') = ffffffff
to_hex(integer '0') = 0
to_hex(bigint '9223372036854775807') = 7fffffffffffffff
to_hex(bigint '-1') = ffffffffffffffff
",
    );
}

#[test]
fn pieces_are_postgresqls() {
    check(
        r#"
btrim(text '  x y ') = x y
btrim(text 'xyxtrimyyx', text 'xyz') = trim
btrim(text 'äbä', text 'ä') = b
btrim(text 'aaa', text 'a') =
btrim(text 'abc', text '') = abc
ltrim(text 'zzzytest', text 'xyz') = test
rtrim(text 'testxxzx', text 'xyz') = test
rtrim(text ' test  ') =  test
split_part(text 'abc~@~def~@~ghi', text '~@~', integer '2') = def
split_part(text 'abc,def,ghi,jkl', text ',', integer '-2') = ghi
split_part(text 'abc,def', text ',', integer '3') =
split_part(text 'abc,def', text ',', integer '-3') =
split_part(text 'abc,def', text ',', integer '0') = ERROR: field position must not be zero
split_part(text 'abc', text '', integer '1') = abc
split_part(text 'abc', text '', integer '-1') = abc
split_part(text 'abc', text '', integer '2') =
split_part(text '', text ',', integer '1') =
split_part(text 'abc', text ',', integer '-1') = abc
split_part(text 'aaa', text 'aa', integer '-1') = a
split_part(text 'a,b', text ',', integer '-2147483648') =
split_part(text 'a,b', text ',', integer '2147483647') =
string_to_table(text 'xx~^~yy~^~zz', text '~^~', text 'yy') = {xx,NULL,zz}
string_to_table(text 'a,b,,c', text ',') = {a,b,"",c}
string_to_table(text 'abé', text NULL) = {a,b,é}
string_to_table(text 'abc', text '') = {abc}
string_to_table(text '', text ',') = {}
string_to_table(text NULL, text ',') = {}
string_to_table(text 'aba', text NULL, text 'b') = {a,NULL,a}
string_to_table(text 'a,b', text ',', text NULL) = {a,b}
concat(text 'abcde', integer '2', text NULL, integer '22') = abcde222
concat(boolean 't', double precision '0.1', date '2020-01-02', numeric(4,2) '1.5', text[] '{a,NULL}') = \
t0.12020-01-021.50{a,NULL}
concat(text NULL) =
concat(bytea '\x0102', interval '1 day 2 hours') = \x01021 day 02:00:00
concat_ws(text ',', text 'abcde', integer '2', text NULL, integer '22') = abcde,2,22
concat_ws(text NULL, text 'a', text 'b') = NULL
concat_ws(text '', text 'a', boolean 'f') = af
concat_ws(text ',', text NULL) =
"#,
    );
}

#[test]
fn quotes_are_postgresqls() {
    check(
        r#"
quote_ident(text 'Foo bar') = "Foo bar"
quote_ident(text 'foo') = foo
quote_ident(text 'select') = "select"
quote_ident(text 'a"b') = "a""b"
quote_ident(text '') = ""
quote_ident(text 'äb') = "äb"
quote_literal(text 'O''Reilly') = 'O''Reilly'
quote_literal(text 'a\b') = E'a\\b'
quote_literal(text '') = ''
quote_literal(text NULL) = NULL
quote_literal(numeric(4,1) '42.5') = '42.5'
quote_literal(boolean 't') = 'true'
quote_nullable(text NULL) = NULL
quote_nullable(text 'it''s') = 'it''s'
quote_nullable(integer NULL) = NULL
quote_nullable(integer '42') = '42'
parse_ident(text '"SomeSchema".someTable') = {SomeSchema,sometable}
parse_ident(text ' a . "b c" ') = {a,"b c"}
parse_ident(text 'Ünïcode.ÄB$1') = {Ünïcode,Äb$1}
parse_ident(text '"a""b".c') = {"a\"b",c}
parse_ident(text 'a.b[') = ERROR: string is not a valid identifier: "a.b["
parse_ident(text 'a.b[', boolean 'f') = {a,b}
parse_ident(text 'a b', boolean 'f') = {a}
parse_ident(text 'a. ', boolean 'f') = ERROR: string is not a valid identifier: "a. "
parse_ident(text '') = ERROR: string is not a valid identifier: ""
parse_ident(text '   ') = ERROR: string is not a valid identifier: "   "
parse_ident(text '.a') = ERROR: string is not a valid identifier: ".a"
parse_ident(text 'a.') = ERROR: string is not a valid identifier: "a."
parse_ident(text 'a..b') = ERROR: string is not a valid identifier: "a..b"
parse_ident(text '1a') = ERROR: string is not a valid identifier: "1a"
parse_ident(text '"a') = ERROR: string is not a valid identifier: ""a"
parse_ident(text '""') = ERROR: string is not a valid identifier: """"
parse_ident(text 'a$b._c1') = {a$b,_c1}
unistr(text 'd\0061t\+000061') = data
unistr(text 'd\u0061t\U00000061') = data
unistr(text 'a\\b') = a\b
unistr(text '\D83D\DE00 \ud83d\ude00') = 😀 😀
unistr(text '\0000') = ERROR: invalid Unicode code point: 0000
unistr(text '\D800') = ERROR: invalid Unicode surrogate pair
unistr(text '\D800x') = ERROR: invalid Unicode surrogate pair
unistr(text '\DE00') = ERROR: invalid Unicode surrogate pair
unistr(text '\00zz') = ERROR: invalid Unicode escape
unistr(text '\+110000') = ERROR: invalid Unicode code point: 110000
unistr(text '\UFFFFFFFF') = ERROR: invalid Unicode code point: FFFFFFFF
unistr(text 'abc\') = ERROR: invalid Unicode escape
unistr(text '\D83D\\') = ERROR: invalid Unicode surrogate pair
unistr(text '\00é1') = ERROR: invalid Unicode escape
"#,
    );
}

#[test]
fn formats_are_postgresqls() {
    check(
        r#"
format(text 'Hello %s, %1$s', text 'World') = Hello World, World
format(text 'no place') = no place
format(text '%%') = %
format(text '%s %% %I %L', integer '1', text 'A b', text 'x''y') = 1 % "A b" 'x''y'
format(text 'Testing %3$s, %2$s, %1$s', text 'one', text 'two', text 'three') = Testing three, two, one
format(text '|%10s|', text 'foo') = |       foo|
format(text '|%-10s|', text 'foo') = |foo       |
format(text '|%*s|', integer '10', text 'foo') = |       foo|
format(text '|%*s|', integer '-10', text 'foo') = |foo       |
format(text '|%-*s|', smallint '10', text 'foo') = |foo       |
format(text '|%*2$s|', text 'foo', integer '10', text 'bar') = |       bar|
format(text '|%1$*2$s|', text 'foo', integer '10') = |       foo|
format(text '|%*2$s|', text 'foo', bigint '6', text 'bar') = |   bar|
format(text '|%--5s|', text 'ä') = |ä    |
format(text '%5s|%-5L|%I', text NULL, text NULL, text 'sel"ect') =      |NULL |"sel""ect"
format(text '%I', text NULL) = ERROR: null values cannot be formatted as an SQL identifier
format(text NULL, integer '1') = NULL
format(text NULL) = NULL
format(text '%1$s %s %1$s', text 'a', text 'b') = a b a
format(text '%s', boolean 't') = t
format(text '%L', integer '1') = '1'
format(text '%L', text 'a\b') = E'a\\b'
format(text '%*s', text NULL, text 'x') = x
format(text '%') = ERROR: unterminated format() type specifier
format(text '%', integer '1') = ERROR: unterminated format() type specifier
format(text 'abc%5', integer '1') = ERROR: unterminated format() type specifier
format(text '%-', integer '1') = ERROR: unterminated format() type specifier
format(text '%*', integer '1') = ERROR: unterminated format() type specifier
format(text '%1$', integer '1') = ERROR: unterminated format() type specifier
format(text '%z', integer '1') = ERROR: unrecognized format() type specifier "z"
format(text '%é', integer '1') = ERROR: unrecognized format() type specifier "é"
format(text '%s') = ERROR: too few arguments for format()
format(text '%3$s', integer '1') = ERROR: too few arguments for format()
format(text '%0$s', integer '1') = ERROR: format specifies argument 0, but arguments are numbered from 1
format(text '%*1s', integer '1', integer '2') = ERROR: width argument position must be ended by "$"
format(text '%*0$s', integer '1', integer '2') = ERROR: format specifies argument 0, but arguments are numbered from 1
format(text '%99999999999s', integer '1') = ERROR: number is out of range
format(text '%99999999999$s', integer '1') = ERROR: number is out of range
format(text '%*s', text 'abc', integer '2') = ERROR: invalid input syntax for type integer: "abc"
format(text '%*s', integer '-2147483648', text 'x') = ERROR: number is out of range
format(text '%*s', integer '1') = ERROR: too few arguments for format()
format(text '%05s|', text 'a') =     a|
"#,
    );
}

#[test]
fn bytes_are_postgresqls() {
    check(
        r"
get_bit(bytea '\x1234567890', bigint '30') = 1
get_bit(bytea '\x1234567890', integer '40') = ERROR: index 40 out of valid range, 0..39
get_bit(bytea '\x12', bigint '-1') = ERROR: index -1 out of valid range, 0..7
get_bit(bytea '\x', bigint '0') = ERROR: index 0 out of valid range, 0..-1
get_bit(bytea '\x12', bigint '9223372036854775807') = ERROR: index 9223372036854775807 out of valid range, 0..7
set_bit(bytea '\x1234567890', bigint '30', integer '0') = \x1234563890
set_bit(bytea '\x1234567890', bigint '0', integer '1') = \x1334567890
set_bit(bytea '\x12', bigint '0', integer '2') = ERROR: new bit must be 0 or 1
set_bit(bytea '\x12', bigint '8', integer '2') = ERROR: index 8 out of valid range, 0..7
get_byte(bytea '\x1234567890', integer '4') = 144
get_byte(bytea '\x12', integer '1') = ERROR: index 1 out of valid range, 0..0
get_byte(bytea '\x12', integer '-2147483648') = ERROR: index -2147483648 out of valid range, 0..0
set_byte(bytea '\x1234567890', integer '4', integer '64') = \x1234567840
set_byte(bytea '\x12', integer '0', integer '300') = \x2c
set_byte(bytea '\x12', integer '0', integer '-1') = \xff
set_byte(bytea '\x12', integer '7', integer '300') = ERROR: index 7 out of valid range, 0..0
bit_count(bytea '\x1234567890') = 15
bit_count(bytea '\x') = 0
btrim(bytea '\x1234567890', bytea '\x9012') = \x345678
ltrim(bytea '\x1234567890', bytea '\x9012') = \x34567890
rtrim(bytea '\x1234567890', bytea '\x9012') = \x12345678
btrim(bytea '\x1212', bytea '\x12') = \x
overlay(bytea '\x1234567890', bytea '\x0203', integer '2', integer '3') = \x12020390
overlay(bytea '\x1234567890', bytea '\x0203', integer '2') = \x1202037890
overlay(bytea '\x1234', bytea '\x00', integer '0') = ERROR: negative substring length not allowed
overlay(bytea '\x1234', bytea '\x00', integer '9', integer '-3') = \x123400
overlay(bytea '\x1234', bytea '\x00', integer '2', integer '2147483647') = ERROR: integer out of range
",
    );
}

#[test]
fn encodings_are_postgresqls() {
    check(
        r#"
convert_from(bytea '\x4772f6df65', text 'LATIN1') = Größe
convert_from(bytea '\x41', text 'sql_ascii') = A
convert_from(bytea '\xc3a4e282ac', text 'UTF-8') = ä€
convert_from(bytea '\xff', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0xff
convert_from(bytea '\x41e282', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0xe2 0x82
convert_from(bytea '\xe28241', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0xe2 0x82 0x41
convert_from(bytea '\x00', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0x00
convert_from(bytea '\x0041ff', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0x00
convert_from(bytea '\xff00', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0xff
convert_from(bytea '\xc0af', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0xc0 0xaf
convert_from(bytea '\xeda080', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0xed 0xa0 0x80
convert_from(bytea '\xf4908080', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0xf4 0x90 0x80 0x80
convert_from(bytea '\x80', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0x80
convert_from(bytea '\xff', text 'sql_ascii') = ERROR: invalid byte sequence for encoding "UTF8": 0xff
convert_from(bytea '\x00', text 'LATIN1') = ERROR: invalid byte sequence for encoding "LATIN1": 0x00
convert_from(bytea '\x81', text 'WIN1252') = \
ERROR: character with byte sequence 0x81 in encoding "WIN1252" has no equivalent in encoding "UTF8"
convert_from(bytea '\x80829f', text 'windows-1252') = €‚Ÿ
convert_from(bytea '\xa4a6a8b4b8bcbdbe', text 'LATIN9') = €ŠšŽžŒœŸ
convert_from(bytea '\x41', text 'foo') = ERROR: invalid source encoding name "foo"
convert_to(text 'Größe', text 'UTF8') = \x4772c3b6c39f65
convert_to(text 'Größe', text 'iso_8859_1') = \x4772f6df65
convert_to(text '€Ÿž', text 'WIN1252') = \x809f9e
convert_to(text '€Š', text 'LATIN9') = \xa4a6
convert_to(text '€', text 'LATIN1') = \
ERROR: character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1"
convert_to(text '¤', text 'LATIN9') = \
ERROR: character with byte sequence 0xc2 0xa4 in encoding "UTF8" has no equivalent in encoding "LATIN9"
convert_to(text '😀', text 'WIN1252') = \
ERROR: character with byte sequence 0xf0 0x9f 0x98 0x80 in encoding "UTF8" has no equivalent in encoding "WIN1252"
convert_to(text 'ä', text 'SQL_ASCII') = \xc3a4
convert_to(text 'ä', text 'foo') = ERROR: invalid destination encoding name "foo"
convert(bytea '\xe4', text 'LATIN1', text 'UTF8') = \xc3a4
convert(bytea '\xc3a4', text 'UTF8', text 'LATIN1') = \xe4
convert(bytea '\xff', text 'UTF8', text 'LATIN1') = ERROR: invalid byte sequence for encoding "UTF8": 0xff
convert(bytea '\xff', text 'foo', text 'LATIN1') = ERROR: invalid source encoding name "foo"
convert(bytea '\xff', text 'UTF8', text 'foo') = ERROR: invalid destination encoding name "foo"
convert(bytea '\xff', text 'LATIN1', text 'SQL_ASCII') = \xff
convert(bytea '\xff', text 'SQL_ASCII', text 'LATIN1') = \xff
convert(bytea '\xff', text 'SQL_ASCII', text 'UTF8') = ERROR: invalid byte sequence for encoding "UTF8": 0xff
convert(bytea '\x00', text 'SQL_ASCII', text 'UTF8') = ERROR: invalid byte sequence for encoding "SQL_ASCII": 0x00
convert(bytea '\x00', text 'UTF8', text 'SQL_ASCII') = ERROR: invalid byte sequence for encoding "UTF8": 0x00
convert(bytea '\x81', text 'WIN1252', text 'WIN1252') = \x81
convert(bytea '\xa4', text 'LATIN9', text 'LATIN1') = \
ERROR: default conversion function for encoding "LATIN9" to "LATIN1" does not exist
convert(bytea '\x41', text 'LATIN9', text 'WIN1252') = \
ERROR: default conversion function for encoding "LATIN9" to "WIN1252" does not exist
convert_from(bytea '\x00', text 'SQL_ASCII') = ERROR: invalid byte sequence for encoding "SQL_ASCII": 0x00
"#,
    );
}

#[test]
fn hashes_are_postgresqls() {
    check(
        r"
md5(text 'abc') = 900150983cd24fb0d6963f7d28e17f72
md5(text '') = d41d8cd98f00b204e9800998ecf8427e
md5(bytea '\x616263') = 900150983cd24fb0d6963f7d28e17f72
sha224(bytea 'abc') = \x23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7
sha256(bytea '') = \xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
sha256(bytea 'abc') = \xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
sha384(bytea 'abc') = \xcb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7
sha512(bytea 'abc') = \xddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c\
23a3feebbd454d4423643ce80e2a9ac94fa54ca49f
",
    );
}

#[test]
fn kinds_are_postgresqls() {
    check(
        r"
num_nulls(integer '1', text NULL, integer '2') = 1
num_nulls(text NULL) = 1
num_nonnulls(integer '1', text NULL, integer '2') = 2
num_nonnulls(text NULL) = 0
pg_typeof(integer '33') = integer
pg_typeof(integer NULL) = integer
pg_typeof(varchar(5) 'a') = character varying
pg_typeof(numeric(4,2) '1') = numeric
pg_typeof(integer[] '{1}') = integer[]
pg_typeof(timestamptz '2020-01-01') = timestamp with time zone
",
    );
}

/// What has blanks at its ends, which a transcript does not show well.
#[test]
fn blanks_are_kept() {
    let pad = |name, text| answer(name, &[(DataType::Text, Some(text)), (DataType::Integer, Some("4"))]);
    assert_eq!((pad("rpad", "hi").as_str(), pad("lpad", "hi").as_str()), ("hi  ", "  hi"));
    assert_eq!(answer("ltrim", &[(DataType::Text, Some("  test "))]), "test ");
    assert_eq!(answer("rtrim", &[(DataType::Text, Some(" test  "))]), " test");
}

fn text(text: &str) -> (DataType, Option<&str>) {
    (DataType::Text, Some(text))
}

fn int(text: &str) -> (DataType, Option<&str>) {
    (DataType::Integer, Some(text))
}

/// Nothing is allocated that would be too long, and nothing takes time that grows with a product of lengths.
#[test]
fn results_have_a_limit() {
    let long = "ab".repeat(100_000);
    let too_long = "ERROR: requested length too large";
    assert_eq!(answer("repeat", &[text(&long), int("2000")]), too_long);
    assert_eq!(answer("replace", &[text(&long), text("a"), text(&long)]), too_long);
    assert_eq!(answer("lpad", &[text("x"), int("300000000"), text(&long)]), too_long);
    assert_eq!(answer("rpad", &[text(&long), int("2147483647"), text("€")]), too_long);
    assert_eq!(answer("format", &[text("%2147483647s"), text("x")]), too_long);
    assert_eq!(answer("format", &[text("%*s"), int("-2147483647"), text("x")]), too_long);
    assert_eq!(answer("strpos", &[text(&long), text(&format!("{}c", &long[..50_000]))]), "0");
    assert_eq!(answer("translate", &[text(&long), text(&long), text(&long)]), long);
    assert_eq!(answer("btrim", &[text(&long), text(&long)]), "");
    let (many, some) = ("\\x".to_owned() + &"00".repeat(100_000), "\\x".to_owned() + &"00".repeat(50_000) + "01");
    assert_eq!(answer("position", &[(DataType::Bytea, Some(&many)), (DataType::Bytea, Some(&some))]), "0");
}

/// Whatever a text says, there is an answer or an error.
#[test]
fn no_pattern_panics() {
    let signs = ["%", "$", "*", "-", "\\", "+", "\"", ".", " ", "1", "0", "9"];
    let letters = [&signs[..], &["s", "I", "L", "é", "u", "D83D", "DE00"]].concat();
    let mut state = 7_u64;
    for _ in 0..20_000 {
        let mut pattern = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            pattern.push_str(letters[(state >> 33) as usize % letters.len()]);
        }
        let pattern = text(&pattern);
        answer("format", &[pattern, int("7"), pattern, (DataType::Text, None)]);
        answer("unistr", &[pattern]);
        answer("parse_ident", &[pattern]);
        answer("quote_literal", &[pattern]);
        answer("initcap", &[pattern]);
    }
}
