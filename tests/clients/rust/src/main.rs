//! tokio-postgres against Weft: everything it sends is binary. Connects by PG* variables.

use std::env::var;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, NoTls};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let config = ["host", "port", "user", "password"]
        .map(|name| format!("{name}={} ", var(format!("PG{}", name.to_uppercase())).unwrap_or_default()))
        .concat();
    let (mut client, connection) = tokio_postgres::connect(&format!("{config}dbname=weft"), NoTls).await?;
    tokio::spawn(connection);
    let columns = "id integer PRIMARY KEY, name text, size bigint, rate double precision, ok boolean";
    client.batch_execute(&format!("DROP TABLE IF EXISTS crates; CREATE TABLE crates ({columns})")).await?;
    values(&client).await?;
    pipelined(&client).await?;
    transactions(&mut client).await?;
    println!("tokio-postgres: ok");
    Ok(())
}

async fn values(client: &Client) -> Result<(), Error> {
    let insert = client.prepare("INSERT INTO crates VALUES ($1, $2, $3, $4, $5)").await?;
    for id in 0..100i32 {
        let name = (id % 2 == 0).then(|| format!("crate {id}"));
        assert_eq!(client.execute(&insert, &[&id, &name, &(i64::from(id) << 33), &0.5f64, &true]).await?, 1);
    }
    let rows = client.query("SELECT id, name, size, rate, ok FROM crates WHERE id >= $1 ORDER BY id", &[&98i32]).await?;
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].get::<_, Option<&str>>(1), Some("crate 98"));
    assert_eq!(rows[1].get::<_, Option<&str>>(1), None);
    assert_eq!(rows[1].get::<_, i64>("size"), 99i64 << 33);
    assert_eq!(rows[1].get::<_, f64>("rate"), 0.5);
    let count: i64 = client.query_one("SELECT count(*) FROM crates", &[]).await?.get(0);
    assert_eq!(count, 100);
    Ok(())
}

async fn pipelined(client: &Client) -> Result<(), Error> {
    let select = client.prepare("SELECT size FROM crates WHERE id = $1").await?;
    let size = async |id: i32| client.query_one(&select, &[&id]).await.map(|row| row.get::<_, i64>(0));
    let (a, b, c) = tokio::try_join!(size(1), size(2), size(3))?;
    assert_eq!([a >> 33, b >> 33, c >> 33], [1, 2, 3]);
    Ok(())
}

async fn transactions(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.execute("DELETE FROM crates", &[]).await?;
    transaction.rollback().await?;
    let error = client.execute("INSERT INTO crates (id) VALUES (1)", &[]).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
    assert_eq!(error.as_db_error().and_then(|error| error.constraint()), Some("crates_pkey"));
    let transaction = client.transaction().await?;
    let portal = transaction.bind("SELECT id FROM crates ORDER BY id", &[]).await?;
    assert_eq!(transaction.query_portal(&portal, 30).await?.len(), 30);
    assert_eq!(transaction.query_portal(&portal, 100).await?.len(), 70);
    transaction.commit().await
}
