-- What a session in psql looks like: tags, tables, errors with their place, transactions, COPY.
CREATE TABLE items (id integer PRIMARY KEY, name text NOT NULL, price numeric(10,2) CHECK (price > 0));
INSERT INTO items VALUES (1, 'bolt', 2.5), (2, 'nut', 0.75), (3, 'very long name of an item', 100);
SELECT * FROM items ORDER BY id;
SELECT count(*), sum(price) AS total FROM items \gset
\echo :count :total
UPDATE items SET price = price * 2 WHERE id < 3 RETURNING id, price;
SELECT nme FROM items;
INSERT INTO items VALUES (4, NULL, 1);
INSERT INTO items VALUES (4, 'x', -1);
BEGIN;
DELETE FROM items;
SELECT 1/0;
SELECT count(*) FROM items;
ROLLBACK;
SELECT count(*) FROM items;
COPY items (id, name) FROM STDIN;
10	from	a client
\.
COPY items (id, name) FROM STDIN;
10	washer
11	\N
\.
COPY items (id, name, price) FROM STDIN WITH (FORMAT csv);
20,"a, b",1.00
21,plain,
\.
COPY (SELECT id, name, price FROM items WHERE id > 9 ORDER BY id) TO STDOUT;
PREPARE by_id AS SELECT name FROM items WHERE id = $1;
EXECUTE by_id(2);
\set VERBOSITY verbose
INSERT INTO items VALUES (1, 'again', 1);
