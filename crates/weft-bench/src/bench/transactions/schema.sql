-- The tables of the transaction benchmarks and their rows, one text for Weft, PostgreSQL and SQLite.
-- A line "-- section: NAME" begins a section. {records}, {people}, {warehouses} are numbers that the run chooses.
-- SQLite: bigint PRIMARY KEY becomes INTEGER PRIMARY KEY, generate_series a table of numbers.

-- section: inserted
CREATE TABLE inserted (id bigint PRIMARY KEY, name text, age integer);
CREATE INDEX inserted_age ON inserted (age);

-- section: people
CREATE TABLE people (id bigint PRIMARY KEY, name text, age integer);
CREATE INDEX people_age ON people (age);

-- section: micro
CREATE TABLE micro (id bigint PRIMARY KEY, c1 integer, c2 integer, c3 integer, c4 integer, c5 integer,
                    c6 integer, c7 integer, c8 integer, c9 integer, c10 integer);
INSERT INTO micro
SELECT g.i - 1, g.i % 1000, g.i % 1001, g.i % 1002, g.i % 1003, g.i % 1004,
       g.i % 1005, g.i % 1006, g.i % 1007, g.i % 1008, g.i % 1009
FROM generate_series(1, {records}) AS g(i);

-- section: points
CREATE TABLE points (id bigint PRIMARY KEY, k integer, pad text);
INSERT INTO points
SELECT g.i - 1, 0, 'a text of some length that stands for what else is in a row of such a table'
FROM generate_series(1, {records}) AS g(i);

-- section: commits
CREATE TABLE counters (id bigint PRIMARY KEY, v bigint);
INSERT INTO counters SELECT g.i - 1, 0 FROM generate_series(1, 160000) AS g(i);
CREATE TABLE wide (id bigint PRIMARY KEY, c0 bigint, c1 bigint, c2 bigint, c3 bigint, c4 bigint, c5 bigint, c6 bigint,
                   c7 bigint, c8 bigint, c9 bigint, c10 bigint, c11 bigint, c12 bigint, c13 bigint, c14 bigint,
                   c15 bigint);
INSERT INTO wide SELECT g.i - 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(1, 4) AS g(i);

-- section: orders
CREATE TABLE warehouse (w_id integer PRIMARY KEY, w_name text, w_tax integer, w_ytd bigint);
CREATE TABLE district (d_w_id integer, d_id integer, d_tax integer, d_ytd bigint, d_next_o_id integer,
                       PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id integer, c_d_id integer, c_id integer, c_last text, c_first text, c_discount integer,
                       c_balance bigint, c_payment_cnt integer, PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE history (h_id bigint PRIMARY KEY, h_w_id integer, h_d_id integer, h_c_id integer, h_amount bigint);
CREATE TABLE item (i_id integer PRIMARY KEY, i_name text, i_price integer);
CREATE TABLE stock (s_w_id integer, s_i_id integer, s_quantity integer, s_ytd bigint, s_order_cnt integer, s_data text,
                    PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE orders (o_w_id integer, o_d_id integer, o_id integer, o_c_id integer, o_ol_cnt integer,
                     PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE new_order (no_w_id integer, no_d_id integer, no_o_id integer, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE order_line (ol_w_id integer, ol_d_id integer, ol_o_id integer, ol_number integer, ol_i_id integer,
                         ol_quantity integer, ol_amount bigint, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
INSERT INTO warehouse SELECT w.i, 'warehouse', w.i * 3, 0 FROM generate_series(1, {warehouses}) AS w(i);
INSERT INTO district
SELECT w.i, d.i, d.i, 0, 1 FROM generate_series(1, {warehouses}) AS w(i), generate_series(1, 10) AS d(i);
INSERT INTO customer
SELECT w.i, d.i, c.i, CAST(c.i * 7 % 1000 AS text), 'first-' || CAST(c.i % 100 AS text), c.i % 50, 0, 0
FROM generate_series(1, {warehouses}) AS w(i), generate_series(1, 10) AS d(i), generate_series(1, 3000) AS c(i);
INSERT INTO item
SELECT g.i, 'item-' || CAST(g.i AS text), 100 + g.i * 7919 % 9900 FROM generate_series(1, 100000) AS g(i);
INSERT INTO stock
SELECT w.i, g.i, 10 + g.i % 91, 0, 0, 'a text of some length that stands for the data of the stock'
FROM generate_series(1, {warehouses}) AS w(i), generate_series(1, 100000) AS g(i);
CREATE INDEX customer_last ON customer (c_w_id, c_d_id, c_last);
