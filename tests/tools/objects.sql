SELECT c.oid, n.nspname || '.' || c.relname FROM pg_catalog.pg_class c, pg_catalog.pg_namespace n
WHERE n.oid = c.relnamespace AND c.oid >= 16384 AND n.nspname <> 'pg_toast';
SELECT oid, 'schema ' || nspname FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_t';
SELECT oid, 'database ' || datname FROM pg_catalog.pg_database WHERE datname = current_database();
SELECT k.oid, 'constraint ' || c.relname || '.' || k.conname FROM pg_catalog.pg_constraint k, pg_catalog.pg_class c
WHERE c.oid = k.conrelid;
SELECT d.oid, 'default ' || c.relname || '.' || d.adnum FROM pg_catalog.pg_attrdef d, pg_catalog.pg_class c
WHERE c.oid = d.adrelid;
SELECT c.reltype, 'row of ' || c.relname FROM pg_catalog.pg_class c, pg_catalog.pg_namespace n
WHERE c.oid >= 16384 AND c.reltype <> 0 AND n.oid = c.relnamespace AND n.nspname <> 'pg_toast';
SELECT t.oid, 'rows of ' || c.relname FROM pg_catalog.pg_class c, pg_catalog.pg_type t
WHERE c.oid >= 16384 AND c.reltype <> 0 AND t.typelem = c.reltype;
SELECT r.oid, 'rule of ' || c.relname FROM pg_catalog.pg_rewrite r, pg_catalog.pg_class c
WHERE c.oid >= 16384 AND c.oid = r.ev_class;
SELECT c.reltoastrelid, 'toast of ' || c.relname FROM pg_catalog.pg_class c WHERE c.oid >= 16384 AND c.reltoastrelid <> 0;
