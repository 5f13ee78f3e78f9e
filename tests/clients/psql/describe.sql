-- What psql's commands on the catalog show.
DROP TABLE IF EXISTS items;
CREATE TABLE buyers (id serial PRIMARY KEY, name varchar(50) NOT NULL UNIQUE, since date, score numeric(12,2) DEFAULT 0 CHECK (score >= 0));
CREATE TABLE bills (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, buyer_id integer NOT NULL REFERENCES buyers (id) ON DELETE CASCADE, day timestamp, tags text[], note character(3));
CREATE INDEX bills_by_day ON bills (day, buyer_id);
CREATE UNIQUE INDEX bills_note ON bills (lower(note)) WHERE id > 3;
CREATE VIEW big AS SELECT id, name FROM buyers WHERE score > 10;
CREATE SEQUENCE numbers INCREMENT 2 START 5;
CREATE SCHEMA shop;
CREATE TABLE shop.goods (a bigint, b text, PRIMARY KEY (a, b));
COMMENT ON TABLE buyers IS 'who buys';
COMMENT ON COLUMN buyers.name IS 'as on the bill';
\d b*
\d+ buyers
\d big
\d numbers
\d shop.goods
\dt
\dt shop.*
\di
\dv
\ds
\dn
\du
\l
\df
\d nothing
BEGIN;
CREATE TABLE mine (a integer);
ALTER TABLE buyers DROP COLUMN since;
\dt
\d buyers
ROLLBACK;
\dt
SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'bills' ORDER BY ordinal_position;
SELECT constraint_name, constraint_type FROM information_schema.table_constraints WHERE table_schema = 'public' ORDER BY 1;
SELECT 'buyers'::regclass, to_regclass('nothing'), pg_typeof(1), format_type(1043, 54);
SELECT current_database(), current_schema(), current_schemas(true), current_user, pg_get_serial_sequence('buyers', 'id');
DROP SCHEMA shop CASCADE;
DROP TABLE bills, buyers CASCADE;
DROP SEQUENCE numbers;
\d
