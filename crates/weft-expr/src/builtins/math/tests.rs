//! What PostgreSQL 15 answers.

use super::super::strings::tests::check;

#[test]
fn floats_have_postgresqls_digits() {
    check(
        r"
abs(double precision '-17.4') = 17.4
abs(double precision '-0') = 0
abs(real '-1.5') = 1.5
cbrt(double precision '64') = 4
ceil(double precision '-42.8') = -42
ceiling(double precision '95.3') = 96
ceil(double precision '-0.5') = -0
ceil(double precision 'NaN') = NaN
floor(double precision '-42.8') = -43
floor(double precision '1e300') = 1e+300
round(double precision '2.5') = 2
round(double precision '-3.5') = -4
round(double precision '0.4') = 0
round(double precision '-0.4') = -0
round(integer '7') = 7
trunc(double precision '42.8') = 42
trunc(double precision '-0.8') = -0
trunc(double precision '-Infinity') = -Infinity
sign(double precision '-8.4') = -1
sign(double precision '0') = 0
sign(double precision 'NaN') = 0
degrees(double precision '0.5') = 28.64788975654116
degrees(double precision '1e308') = ERROR: value out of range: overflow
degrees(double precision 'Infinity') = Infinity
radians(double precision '45') = 0.7853981633974483
radians(double precision '180') = 3.141592653589793
radians(double precision '5e-324') = ERROR: value out of range: underflow
exp(double precision '1') = 2.718281828459045
exp(double precision '0.1') = 1.1051709180756477
exp(double precision '-1.5') = 0.22313016014842982
exp(double precision '1000') = ERROR: value out of range: overflow
exp(double precision '-1000') = ERROR: value out of range: underflow
exp(double precision 'Infinity') = Infinity
exp(double precision '-Infinity') = 0
exp(double precision 'NaN') = NaN
exp(integer '2') = 7.38905609893065
ln(double precision '2') = 0.6931471805599453
ln(double precision '1') = 0
ln(double precision '0') = ERROR: cannot take logarithm of zero
ln(double precision '-1') = ERROR: cannot take logarithm of a negative number
ln(double precision '-Infinity') = ERROR: cannot take logarithm of a negative number
ln(double precision 'Infinity') = Infinity
ln(double precision 'NaN') = NaN
ln(integer '10') = 2.302585092994046
log(double precision '100') = 2
log(double precision '2') = 0.3010299956639812
log(integer '1000') = 3
log10(double precision '1000') = 3
log10(double precision '0.3') = -0.5228787452803376
log10(double precision '0') = ERROR: cannot take logarithm of zero
log10(double precision '-0.5') = ERROR: cannot take logarithm of a negative number
sqrt(double precision '2') = 1.4142135623730951
sqrt(integer '25') = 5
sqrt(double precision '-1') = ERROR: cannot take square root of a negative number
sqrt(double precision '-0') = -0
sqrt(double precision 'NaN') = NaN
sqrt(double precision 'Infinity') = Infinity
power(double precision '9', double precision '3') = 729
power(integer '2', integer '10') = 1024
power(double precision '2', double precision '0.5') = 1.4142135623730951
pow(double precision '2', double precision '-2') = 0.25
power(double precision '0', double precision '0') = 1
power(double precision '0', double precision '-1') = ERROR: zero raised to a negative power is undefined
power(double precision '-2', double precision '0.5') = \
ERROR: a negative number raised to a non-integer power yields a complex result
power(double precision '-2', double precision '3') = -8
power(double precision '-8', double precision '2') = 64
power(double precision '10', double precision '400') = ERROR: value out of range: overflow
power(double precision '10', double precision '-400') = ERROR: value out of range: underflow
power(double precision 'NaN', double precision '0') = 1
power(double precision '1', double precision 'NaN') = 1
power(double precision '2', double precision 'NaN') = NaN
power(double precision 'NaN', double precision '2') = NaN
power(double precision '-1', double precision 'Infinity') = 1
power(double precision '0.5', double precision 'Infinity') = 0
power(double precision '2', double precision '-Infinity') = 0
power(double precision '-2', double precision 'Infinity') = Infinity
power(double precision '-Infinity', double precision '3') = -Infinity
power(double precision '-Infinity', double precision '-3') = -0
power(double precision '-Infinity', double precision '2') = Infinity
power(double precision '-Infinity', double precision '0.5') = \
ERROR: a negative number raised to a non-integer power yields a complex result
power(double precision 'Infinity', double precision '0') = 1
power(double precision '0', double precision 'Infinity') = 0
power(double precision '0', double precision '-Infinity') = ERROR: zero raised to a negative power is undefined
power(double precision '0', double precision '5') = 0
pi() = 3.141592653589793
width_bucket(double precision '5.35', double precision '0.024', double precision '10.06', integer '5') = 3
width_bucket(double precision '10.06', double precision '0.024', double precision '10.06', integer '5') = 6
width_bucket(double precision '0', double precision '0.024', double precision '10.06', integer '5') = 0
width_bucket(double precision '5', double precision '10', double precision '0', integer '4') = 3
width_bucket(double precision '11', double precision '10', double precision '0', integer '4') = 0
width_bucket(double precision '0', double precision '10', double precision '0', integer '4') = 5
width_bucket(double precision '1', double precision '0', double precision '1', integer '2147483647') = \
ERROR: integer out of range
width_bucket(double precision '0.9999999999999999', double precision '0', double precision '1', integer '21474\
83647') = 2147483647
width_bucket(double precision '1', double precision '0', double precision '1', integer '0') = \
ERROR: count must be greater than zero
width_bucket(double precision '1', double precision '0', double precision '1', integer '-2147483648') = \
ERROR: count must be greater than zero
width_bucket(double precision '1', double precision '1', double precision '1', integer '3') = \
ERROR: lower bound cannot equal upper bound
width_bucket(double precision 'NaN', double precision '1', double precision '2', integer '3') = \
ERROR: operand, lower bound, and upper bound cannot be NaN
width_bucket(double precision '1', double precision '1', double precision 'Infinity', integer '3') = \
ERROR: lower and upper bounds must be finite
width_bucket(double precision 'Infinity', double precision '1', double precision '2', integer '3') = 4
",
    );
}

#[test]
fn angles_have_postgresqls_digits() {
    check(
        r"
sin(double precision '1') = 0.8414709848078965
sin(double precision '0.5') = 0.479425538604203
sin(double precision '1e22') = -0.8522008497671888
sin(double precision 'Infinity') = ERROR: input is out of range
sin(double precision 'NaN') = NaN
cos(double precision '1') = 0.5403023058681398
cos(double precision '100') = 0.8623188722876839
cos(double precision '-Infinity') = ERROR: input is out of range
tan(double precision '1') = 1.5574077246549023
tan(double precision '1.5707963267948966') = 1.633123935319537e+16
tan(double precision 'Infinity') = ERROR: input is out of range
cot(double precision '0.5') = 1.830487721712452
cot(double precision '0') = Infinity
cot(double precision 'Infinity') = ERROR: input is out of range
asin(double precision '0.5') = 0.5235987755982989
asin(double precision '1.1') = ERROR: input is out of range
asin(double precision 'NaN') = NaN
acos(double precision '0.3') = 1.2661036727794992
acos(double precision '-2') = ERROR: input is out of range
acos(double precision 'Infinity') = ERROR: input is out of range
atan(double precision '1') = 0.7853981633974483
atan(double precision 'Infinity') = 1.5707963267948966
atan2(double precision '1', double precision '0') = 1.5707963267948966
atan2(double precision '-1', double precision '-2') = -2.677945044588987
atan2(double precision 'NaN', double precision '1') = NaN
sind(double precision '30') = 0.5
sind(double precision '45') = 0.7071067811865475
sind(double precision '90') = 1
sind(double precision '150') = 0.5
sind(double precision '180') = 0
sind(double precision '-30') = -0.5
sind(double precision '270') = -1
sind(double precision '390.5') = 0.5075383629607041
sind(double precision '10') = 0.17364817766693036
sind(double precision '71') = 0.9455185755993168
sind(double precision '-1e10') = 0.984807753012208
sind(double precision 'Infinity') = ERROR: input is out of range
sind(double precision 'NaN') = NaN
cosd(double precision '60') = 0.5
cosd(double precision '0') = 1
cosd(double precision '90') = 0
cosd(double precision '120') = -0.5
cosd(double precision '180') = -1
cosd(double precision '-60') = 0.5
cosd(double precision '300') = 0.5
cosd(double precision '33.3') = 0.8358073613682703
cosd(double precision '77') = 0.22495105434386503
cosd(double precision '-Infinity') = ERROR: input is out of range
tand(double precision '45') = 1
tand(double precision '0') = 0
tand(double precision '-180') = 0
tand(double precision '90') = Infinity
tand(double precision '270') = -Infinity
tand(double precision '135') = -1
tand(double precision '-45') = -1
tand(double precision '225') = 1
tand(double precision '12.5') = 0.22169466264293994
cotd(double precision '45') = 1
cotd(double precision '0') = Infinity
cotd(double precision '180') = -Infinity
cotd(double precision '90') = 0
cotd(double precision '30') = 1.7320508075688774
cotd(double precision '-300') = 0.5773502691896257
cotd(double precision 'Infinity') = ERROR: input is out of range
cotd(double precision '-720') = -Infinity
cotd(double precision '-0') = -Infinity
sind(double precision '-720') = -0
sind(double precision '-180') = -0
sind(double precision '-0') = -0
tand(double precision '-360') = 0
cosd(double precision '-450') = 0
asind(double precision '0.5') = 30
asind(double precision '1') = 90
asind(double precision '-0.5') = -30
asind(double precision '0.25') = 14.477512185929923
asind(double precision '0.75') = 48.59037789072914
asind(double precision '1.5') = ERROR: input is out of range
acosd(double precision '0.5') = 60
acosd(double precision '-0.5') = 120
acosd(double precision '0') = 90
acosd(double precision '-1') = 180
acosd(double precision '0.1') = 84.26082952273322
acosd(double precision '-0.9') = 154.1580672368329
acosd(double precision 'NaN') = NaN
atand(double precision '1') = 45
atand(double precision '-1') = -45
atand(double precision '0.3') = 16.69924423399362
atand(double precision 'Infinity') = 90
atan2d(double precision '1', double precision '0') = 90
atan2d(double precision '1', double precision '1') = 45
atan2d(double precision '-3', double precision '-2') = -123.69006752597977
sinh(double precision '1') = 1.1752011936438014
sinh(double precision '-0.1') = -0.10016675001984403
sinh(double precision '1000') = Infinity
cosh(double precision '0.7') = 1.255169005630943
cosh(double precision '-1000') = Infinity
tanh(double precision '1') = 0.7615941559557649
tanh(double precision '-0.3') = -0.2913126124515909
tanh(double precision 'Infinity') = 1
asinh(double precision '1') = 0.881373587019543
asinh(double precision '-0.1') = -0.09983407889920758
asinh(double precision '1e-10') = 1e-10
asinh(double precision '2') = 1.4436354751788103
asinh(double precision '2.5') = 1.6472311463710958
asinh(double precision '17.3') = 3.544687947621642
asinh(double precision '1e10') = 23.7189981105004
asinh(double precision '-Infinity') = -Infinity
asinh(double precision 'NaN') = NaN
asinh(double precision '-0') = -0
acosh(double precision '1') = 0
acosh(double precision '1.00001') = 0.004472132228242651
acosh(double precision '1.5') = 0.9624236501192069
acosh(double precision '2') = 1.3169578969248166
acosh(double precision '10') = 2.993222846126381
acosh(double precision '1e10') = 23.7189981105004
acosh(double precision '0.5') = ERROR: input is out of range
acosh(double precision '-Infinity') = ERROR: input is out of range
acosh(double precision 'Infinity') = Infinity
acosh(double precision 'NaN') = NaN
atanh(double precision '0.5') = 0.5493061443340548
atanh(double precision '0.1') = 0.10033534773107558
atanh(double precision '-0.7') = -0.8673005276940531
atanh(double precision '0.9999') = 4.951718775643098
atanh(double precision '1e-10') = 1e-10
atanh(double precision '1') = Infinity
atanh(double precision '-1') = -Infinity
atanh(double precision '1.0001') = ERROR: input is out of range
atanh(double precision 'NaN') = NaN
",
    );
}

#[test]
fn numerics_are_exact() {
    check(
        r"
abs(numeric(4,2) '-17.40') = 17.40
abs(numeric(38,0) '-99999999999999999999999999999999999999') = 99999999999999999999999999999999999999
ceil(numeric(4,1) '-42.8') = -42
ceil(numeric(3,1) '95.3') = 96
ceil(numeric(3,1) '99.9') = 100
ceiling(numeric(2,2) '0.01') = 1
ceil(numeric(2,2) '-0.01') = 0
ceil(numeric(38,38) '0.1') = 1
floor(numeric(4,1) '42.8') = 42
floor(numeric(3,1) '-42.8') = -43
floor(numeric(3,1) '-99.9') = -100
floor(numeric(3,0) '7') = 7
round(numeric(4,1) '42.4') = 42
round(numeric(4,1) '-42.5') = -43
round(numeric(3,1) '99.9') = 100
round(numeric(6,4) '42.4382', integer '4') = 42.4382
round(numeric(4,0) '1234', integer '-2') = 1200
round(numeric(4,0) '9950', integer '-2') = 10000
round(numeric(4,0) '5', integer '-1') = 10
round(numeric(4,0) '1234', integer '-2147483648') = 0
round(numeric(4,0) '4999', integer '-4') = 0
trunc(numeric(4,1) '-42.8') = -42
trunc(numeric(6,4) '42.4382', integer '4') = 42.4382
trunc(numeric(4,0) '1299', integer '-2') = 1200
trunc(numeric(4,0) '-1299', integer '-2147483648') = 0
sign(numeric(3,1) '-8.4') = -1
sign(numeric(3,1) '0') = 0
min_scale(numeric(6,4) '8.4100') = 2
min_scale(numeric(6,4) '8') = 0
min_scale(numeric(6,0) '100') = 0
min_scale(integer '100') = 0
scale(numeric(6,4) '8.41') = 4
scale(integer '8') = 0
trim_scale(numeric(6,4) '8.4100') = 8.41
trim_scale(numeric(6,2) '100.00') = 100
div(numeric(2,0) '9', numeric(1,0) '4') = 2
div(numeric(2,0) '-9', numeric(1,0) '4') = -2
div(numeric(3,1) '9.5', numeric(1,0) '2') = 4
div(numeric(2,1) '1.0', numeric(4,3) '0.003') = 333
div(numeric(4,3) '0.003', numeric(2,1) '1.0') = 0
div(numeric(4,3) '7.999', numeric(2,1) '-2.0') = -3
div(numeric(38,0) '99999999999999999999999999999999999999', numeric(38,0) '3') = 33333333333333333333333333333333333333
div(numeric(38,37) '1', numeric(38,0) '99999999999999999999999999999999999999') = 0
div(numeric(38,19) '1', numeric(38,19) '0.0000000000000000003') = 3333333333333333333
div(integer '7', integer '2') = 3
div(numeric(2,1) '1.0', numeric(1,0) '0') = ERROR: division by zero
mod(numeric(3,1) '9.5', numeric(1,0) '2') = 1.5
mod(numeric(3,1) '-9.5', numeric(1,0) '2') = -1.5
mod(integer '5', numeric(2,1) '0.3') = 0.2
mod(numeric(3,1) '9.5', numeric(1,0) '0') = ERROR: division by zero
gcd(numeric(5,1) '330.3', numeric(5,2) '462.00') = 0.30
gcd(numeric(3,0) '0', numeric(3,0) '-12') = 12
gcd(numeric(38,0) '99999999999999999999999999999999999999', numeric(2,0) '33') = 33
lcm(numeric(5,1) '330.3', numeric(5,2) '462.00') = 508662.00
lcm(numeric(3,0) '0', numeric(3,0) '-12') = 0
lcm(numeric(3,0) '4', numeric(3,0) '-6') = 12
sqrt(numeric(4,0) '-4') = ERROR: cannot take square root of a negative number
sqrt(numeric(20,18) '2') = 1.414213562373095049
sqrt(numeric(20,20) '0.5') = 0.70710678118654752440
factorial(integer '5') = 120
factorial(integer '0') = 1
factorial(integer '33') = 8683317618811886495518194401280000000
factorial(bigint '-4') = ERROR: factorial of a negative number is undefined
factorial(bigint '32178') = ERROR: value overflows numeric format
factorial(bigint '9223372036854775807') = ERROR: value overflows numeric format
width_bucket(numeric(4,2) '5.35', numeric(4,3) '0.024', numeric(4,2) '10.06', integer '5') = 3
width_bucket(numeric(4,2) '0.01', numeric(4,3) '0.024', numeric(4,2) '10.06', integer '5') = 0
width_bucket(numeric(4,2) '10.06', numeric(4,3) '0.024', numeric(4,2) '10.06', integer '5') = 6
width_bucket(numeric(1,0) '1', numeric(1,0) '0', numeric(1,0) '3', integer '3') = 2
width_bucket(numeric(1,0) '5', numeric(2,0) '10', numeric(2,0) '0', integer '4') = 3
width_bucket(numeric(1,0) '5', numeric(2,0) '10', numeric(2,0) '0', integer '0') = \
ERROR: count must be greater than zero
width_bucket(numeric(1,0) '5', numeric(2,0) '1', numeric(2,0) '1', integer '2') = \
ERROR: lower bound cannot equal upper bound
width_bucket(numeric(1,0) '5', numeric(2,0) '1', numeric(2,0) '2', integer '2147483647') = ERROR: integer out of range
width_bucket(numeric(38,0) '49999999999999999999999999999999999999', numeric(38,0) '-9999999999999999999999999\
9999999999999', numeric(38,0) '99999999999999999999999999999999999999', integer '2147483647') = 1610612736
width_bucket(integer '5', integer[] '{1,3,9}') = 2
width_bucket(integer '0', integer[] '{1,3,9}') = 0
width_bucket(integer '9', integer[] '{1,3,9}') = 3
width_bucket(integer '9', integer[] '{}') = 0
width_bucket(numeric(2,1) '2.9', integer[] '{1,3,9}') = 1
width_bucket(integer '3', integer[] '{3,3,3}') = 3
width_bucket(double precision 'NaN', double precision[] '{1,2,NaN}') = 3
width_bucket(text 'm', text[] '{a,m,z}') = 2
width_bucket(timestamp '2020-05-05', date[] '{2020-01-01,2020-05-05,2021-01-01}') = 2
width_bucket(integer '9', integer[] '{1,NULL}') = ERROR: thresholds array must not contain NULLs
width_bucket(integer '9', integer[] NULL) = NULL
",
    );
}

#[test]
fn integers_keep_their_type() {
    check(
        r"
abs(smallint '-17') = 17
abs(smallint '-32768') = ERROR: smallint out of range
abs(integer '-2147483648') = ERROR: integer out of range
abs(bigint '-9223372036854775808') = ERROR: bigint out of range
abs(bigint '-5') = 5
mod(integer '9', integer '4') = 1
mod(integer '-9', integer '4') = -1
mod(smallint '9', smallint '-4') = 1
mod(integer '9', bigint '4') = 1
mod(integer '-2147483648', integer '-1') = 0
mod(bigint '-9223372036854775808', bigint '-1') = 0
mod(integer '9', integer '0') = ERROR: division by zero
gcd(integer '1071', integer '462') = 21
gcd(integer '-1071', integer '462') = 21
gcd(integer '0', integer '0') = 0
gcd(integer '-2147483648', integer '0') = ERROR: integer out of range
gcd(integer '-2147483648', integer '-2147483648') = ERROR: integer out of range
gcd(integer '-2147483648', integer '6') = 2
gcd(bigint '-9223372036854775808', bigint '-9223372036854775808') = ERROR: bigint out of range
gcd(bigint '12', integer '18') = 6
lcm(integer '1071', integer '462') = 23562
lcm(integer '0', integer '5') = 0
lcm(integer '2147483647', integer '2147483646') = ERROR: integer out of range
lcm(bigint '4', bigint '-6') = 12
lcm(bigint '9223372036854775807', bigint '2') = ERROR: bigint out of range
lcm(integer '-2147483648', integer '1') = ERROR: integer out of range
",
    );
}

/// Where a numeric of one scale cannot have PostgreSQL's, where PostgreSQL 15 overflows, and where its C library (glibc
/// before 2.41) has cube roots with a wrong last digit: 3.0000000000000004 for 27.
#[test]
fn scales_are_those_of_the_types() {
    check(
        r"
round(numeric(6,4) '42.4382', integer '2') = 42.4400
round(numeric(6,4) '42.4382', integer '5') = 42.4382
round(numeric(38,10) '42.4382', integer '2') = 42.44
trunc(numeric(6,4) '42.4382', integer '2') = 42.4300
trunc(numeric(38,0) '99999999999999999999999999999999999999', integer '-37') = 90000000000000000000000000000000000000
round(numeric(38,0) '99999999999999999999999999999999999999', integer '-1') = \
ERROR: numeric field overflow: a value does not fit numeric(38,0)
sqrt(numeric(1,0) '2') = 1.4142135623730950
sqrt(numeric(6,3) '0') = 0.0000000000000000
sqrt(numeric(10,0) '2000000000') = 44721.3595499957939282
sqrt(numeric(38,0) '99999999999999999999999999999999999999') = 10000000000000000000.0000000000000000
sqrt(numeric(38,38) '0.25') = 0.5000000000000000000000000000000000000
sqrt(numeric(38,10) '2') = 1.4142135623730950
scale(numeric(38,10) '8.4100') = 2
trim_scale(numeric(38,20) '1.50') = 1.50000000000000000000
factorial(integer '34') = ERROR: numeric field overflow: a value does not fit numeric(38,0)
lcm(numeric(38,0) '99999999999999999999999999999999999999', numeric(38,0) '7') = \
ERROR: numeric field overflow: a value does not fit numeric(38,0)
gcd(numeric(38,0) '99999999999999999999999999999999999999', numeric(38,38) '0.3') = \
ERROR: numeric field overflow: a value does not fit numeric(38,38)
width_bucket(double precision '0', double precision '-1.7e308', double precision '1.7e308', integer '10') = 6
cbrt(double precision '27') = 3
cbrt(double precision '2') = 1.2599210498948732
",
    );
}
