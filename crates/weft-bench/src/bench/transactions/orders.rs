//! TPC-C-like: new-order and payment, half of each, without think times, keying times and the other three transactions.
//!
//! ```text
//!   new-order   warehouse's tax ─ next order number of the district ─ customer ─ order, new_order ─
//!               10 × { item's price ─ stock's quantity ─ order line }
//!   payment     warehouse ─ district ─ customer (6 of 10 by last name, over the secondary index) ─ history
//! ```
//!
//! What differs from TPC-C: always 10 lines, all from the home warehouse, in the order of their items (so that there is
//! no deadlock), uniform random numbers, the first customer of a name instead of the middle one, no rollbacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use weft::{Error, Prepared, Session, Value};

use super::clients::{self, Work};
use super::suite::Suite;
use crate::bench::line;
use crate::bench::numbers::Numbers;
use crate::subcommand::Failure;

const LINES: u64 = 10;
const ITEMS: u64 = 100_000;
const CUSTOMERS: u64 = 3_000;
const NAMES: u64 = 1_000;

/// Ids of history of different clients never meet.
const CLIENT_IDS: u64 = 1_000_000_000;

/// What payments and orders must leave, each a query that yields 0. [`run`] and `bench/transactions.py` use the same.
const CHECKS: [&str; 7] = [
    "SELECT CAST((SELECT sum(w_ytd) FROM warehouse) - (SELECT coalesce(sum(h_amount), 0) FROM history) AS bigint)",
    "SELECT CAST((SELECT sum(d_ytd) FROM district) - (SELECT coalesce(sum(h_amount), 0) FROM history) AS bigint)",
    "SELECT CAST((SELECT sum(c_balance) FROM customer) + (SELECT coalesce(sum(h_amount), 0) FROM history) AS bigint)",
    "SELECT CAST((SELECT sum(d_next_o_id - 1) FROM district) - (SELECT count(*) FROM orders) AS bigint)",
    "SELECT CAST((SELECT count(*) FROM orders) - (SELECT count(*) FROM new_order) AS bigint)",
    "SELECT CAST((SELECT sum(s_ytd) FROM stock) - (SELECT coalesce(sum(ol_quantity), 0) FROM order_line) AS bigint)",
    "SELECT count(*) FROM stock WHERE (s_quantity + s_ytd - 10 - s_i_id % 91) % 91 <> 0",
];

/// 1, 4 and 16 clients.
pub(super) fn run(suite: &Suite) -> Result<(), Failure> {
    suite.make("orders")?;
    suite.database.checkpoint()?;
    let (mut payments, mut orders) = (0, 0);
    for (round, threads) in [1u64, 4, 16].into_iter().enumerate() {
        let paid = AtomicI64::new(0);
        let first = round as u64 * 20 * CLIENT_IDS;
        let ran = clients::run(
            &suite.database,
            threads,
            suite.time,
            &|client, session| terminal(session, client, first + client * CLIENT_IDS, suite.warehouses, &paid),
            None,
        )?;
        line::put(&format!("orders_{threads}"), ran.rate, "tx/s");
        if ran.retries > 0 {
            line::put(&format!("orders_{threads}_retries"), ran.retries as f64, "count");
        }
        let paid = paid.into_inner();
        payments += paid;
        orders += ran.done as i64 - paid;
        suite.expect("SELECT count(*) FROM history", payments)?;
        suite.expect("SELECT count(*) FROM orders", orders)?;
        suite.expect("SELECT count(*) FROM order_line", orders * LINES as i64)?;
        CHECKS.iter().try_for_each(|check| suite.expect(check, 0))?;
    }
    Ok(())
}

/// The statements of a client.
struct Statements {
    begin: Arc<Prepared>,
    commit: Arc<Prepared>,
    new_order: NewOrder,
    payment: Payment,
}

struct NewOrder {
    tax: Arc<Prepared>,
    number: Arc<Prepared>,
    customer: Arc<Prepared>,
    order: Arc<Prepared>,
    open: Arc<Prepared>,
    item: Arc<Prepared>,
    stock: Arc<Prepared>,
    line: Arc<Prepared>,
}

struct Payment {
    warehouse: Arc<Prepared>,
    district: Arc<Prepared>,
    by_name: Arc<Prepared>,
    customer: Arc<Prepared>,
    history: Arc<Prepared>,
}

impl Statements {
    fn prepare(session: &mut Session) -> Result<Statements, Error> {
        let mut of = |sql: &str| session.prepare(sql);
        Ok(Statements {
            begin: of("BEGIN")?,
            commit: of("COMMIT")?,
            new_order: NewOrder {
                tax: of("SELECT w_tax FROM warehouse WHERE w_id = $1")?,
                number: of("UPDATE district SET d_next_o_id = d_next_o_id + 1 \
                            WHERE d_w_id = $1 AND d_id = $2 RETURNING d_next_o_id")?,
                customer: of(
                    "SELECT c_discount, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
                )?,
                order: of("INSERT INTO orders VALUES ($1, $2, $3, $4, $5)")?,
                open: of("INSERT INTO new_order VALUES ($1, $2, $3)")?,
                item: of("SELECT i_price FROM item WHERE i_id = $1")?,
                stock: of(
                    "UPDATE stock SET s_quantity = s_quantity - $1 + CASE WHEN s_quantity >= $2 THEN 0 ELSE 91 END, \
                           s_ytd = s_ytd + $1, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = $3 AND s_i_id = $4",
                )?,
                line: of("INSERT INTO order_line VALUES ($1, $2, $3, $4, $5, $6, $7)")?,
            },
            payment: Payment {
                warehouse: of("UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2")?,
                district: of("UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3")?,
                by_name: of("SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 \
                             ORDER BY c_first, c_id LIMIT 1")?,
                customer: of("UPDATE customer SET c_balance = c_balance - $1, c_payment_cnt = c_payment_cnt + 1 \
                              WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4")?,
                history: of("INSERT INTO history VALUES ($1, $2, $3, $4, $5)")?,
            },
        })
    }
}

/// A client that orders and pays; `paid` counts its payments.
fn terminal<'a>(
    session: &mut Session,
    client: u64,
    first_id: u64,
    warehouses: u64,
    paid: &'a AtomicI64,
) -> Result<Work<'a>, Error> {
    let statements = Statements::prepare(session)?;
    let mut numbers = Numbers::new(client);
    let mut history_id = first_id;
    Ok(Box::new(move |session| {
        let pays = numbers.below(2) == 0;
        let place = [int(numbers.between(1, warehouses)), int(numbers.between(1, 10))];
        session.execute_prepared(&statements.begin, &[])?;
        if pays {
            history_id += 1;
            pay(session, &statements.payment, place, history_id, &mut numbers)?;
        } else {
            order(session, &statements.new_order, place, &mut numbers)?;
        }
        session.execute_prepared(&statements.commit, &[])?;
        paid.fetch_add(i64::from(pays), Ordering::Relaxed);
        Ok(())
    }))
}

fn int(number: u64) -> Value {
    Value::Int(number as i64)
}

fn order(session: &mut Session, sql: &NewOrder, place: [Value; 2], numbers: &mut Numbers) -> Result<(), Error> {
    let [warehouse, district] = place;
    let customer = int(numbers.between(1, CUSTOMERS));
    session.execute_prepared(&sql.tax, std::slice::from_ref(&warehouse))?;
    let next = session.execute_prepared(&sql.number, &[warehouse.clone(), district.clone()])?.single();
    let Some(Value::Int(next)) = next else { panic!("district {district:?} of {warehouse:?} has no next order") };
    let number = Value::Int(next - 1);
    session.execute_prepared(&sql.customer, &[warehouse.clone(), district.clone(), customer.clone()])?;
    let key = [warehouse.clone(), district.clone(), number.clone()];
    session.execute_prepared(&sql.order, &[&key[..], &[customer, int(LINES)]].concat())?;
    session.execute_prepared(&sql.open, &key)?;
    for line in 0..LINES {
        let share = ITEMS / LINES;
        let item = int(line * share + numbers.between(1, share));
        let quantity = numbers.between(1, 10);
        let price = session.execute_prepared(&sql.item, std::slice::from_ref(&item))?.single();
        let Some(Value::Int(price)) = price else { panic!("item {item:?} has no price") };
        let stock = [int(quantity), int(quantity + 10), warehouse.clone(), item.clone()];
        session.execute_prepared(&sql.stock, &stock)?;
        let amount = Value::Int(price * quantity as i64);
        session.execute_prepared(&sql.line, &[&key[..], &[int(line + 1), item, int(quantity), amount]].concat())?;
    }
    Ok(())
}

fn pay(
    session: &mut Session,
    sql: &Payment,
    place: [Value; 2],
    history_id: u64,
    numbers: &mut Numbers,
) -> Result<(), Error> {
    let [warehouse, district] = place;
    let amount = int(numbers.between(100, 500_000));
    session.execute_prepared(&sql.warehouse, &[amount.clone(), warehouse.clone()])?;
    session.execute_prepared(&sql.district, &[amount.clone(), warehouse.clone(), district.clone()])?;
    let customer = if numbers.below(10) < 6 {
        let name = Value::Text(numbers.below(NAMES).to_string().into());
        let found = session.execute_prepared(&sql.by_name, &[warehouse.clone(), district.clone(), name])?;
        found.single().expect("every district has customers of every name")
    } else {
        int(numbers.between(1, CUSTOMERS))
    };
    let changed = [amount.clone(), warehouse.clone(), district.clone(), customer.clone()];
    assert_eq!(session.execute_prepared(&sql.customer, &changed)?.tag.row_count(), 1, "a customer pays");
    session.execute_prepared(&sql.history, &[int(history_id), warehouse, district, customer, amount]).map(|_| ())
}
