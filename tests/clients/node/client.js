// node-postgres against Weft: values, prepared statements, transactions, errors, cursors. Connects by PG* variables.
const assert = require("node:assert");
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");

async function main() {
  const client = new Client();
  await client.connect();
  await client.query("DROP TABLE IF EXISTS things");
  await client.query("CREATE TABLE things (id integer PRIMARY KEY, name text, price numeric(10,2), made timestamptz, ok boolean)");
  const made = new Date("2026-11-21T10:00:00.250Z");
  const inserted = await client.query("INSERT INTO things VALUES ($1, $2, $3, $4, $5) RETURNING *", [1, "bolt", "2.50", made, true]);
  assert.deepStrictEqual(inserted.rows, [{ id: 1, name: "bolt", price: "2.50", made, ok: true }]);
  assert.strictEqual(inserted.rowCount, 1);
  for (let id = 2; id <= 50; id++) {
    await client.query({ name: "add", text: "INSERT INTO things (id, name) VALUES ($1, $2)", values: [id, null] });
  }
  const several = await client.query("SELECT 1 AS one; SELECT count(*) AS n FROM things");
  assert.deepStrictEqual(several.map((result) => result.rows), [[{ one: 1 }], [{ n: "50" }]]);

  await client.query("BEGIN");
  await client.query("DELETE FROM things");
  await client.query("ROLLBACK");
  await assert.rejects(client.query("INSERT INTO things (id) VALUES (1)"), (error) => {
    assert.strictEqual(error.code, "23505");
    assert.strictEqual(error.constraint, "things_pkey");
    return true;
  });
  await assert.rejects(client.query("SELECT no_such FROM things"), { code: "42703", position: "8" });

  const cursor = client.query(new Cursor("SELECT id FROM things ORDER BY id"));
  assert.strictEqual((await cursor.read(20)).length, 20);
  assert.strictEqual((await cursor.read(100)).length, 30);
  await cursor.close();
  await client.end();

  const pool = new Pool({ max: 8 });
  const counts = await Promise.all(Array.from({ length: 40 }, () => pool.query("SELECT count(*)::int AS n FROM things")));
  assert.ok(counts.every((result) => result.rows[0].n === 50));
  await pool.end();
  console.log("node-postgres: ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
