import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

/** PostgreSQL's JDBC driver against Weft: values, batches, fetch size, transactions, metadata. */
public class Client {
  public static void main(String[] arguments) throws Exception {
    String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
    Properties properties = new Properties();
    properties.setProperty("user", System.getenv("PGUSER"));
    properties.setProperty("password", System.getenv("PGPASSWORD"));
    // Prepared statements on the server from the second execution on, values in binary where the driver can.
    properties.setProperty("prepareThreshold", "2");
    try (Connection connection = DriverManager.getConnection(url, properties)) {
      statements(connection);
      batches(connection);
      fetchSize(connection);
      transactions(connection);
      metadata(connection);
    }
    System.out.println("jdbc: ok");
  }

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static void statements(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("DROP TABLE IF EXISTS lines");
      statement.execute("DROP TABLE IF EXISTS parts");
      statement.execute("CREATE TABLE parts (id integer PRIMARY KEY, name varchar(40) NOT NULL, price numeric(10,2), made timestamp, ok boolean, weight double precision, big bigint)");
      statement.execute("CREATE TABLE lines (id integer PRIMARY KEY, part integer REFERENCES parts (id) ON DELETE CASCADE)");
      statement.execute("CREATE INDEX parts_by_name ON parts (name)");
    }
    Timestamp made = Timestamp.valueOf("2026-11-21 10:00:00.125");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?, ?)")) {
      for (int id = 1; id <= 5; id++) {
        insert.setInt(1, id);
        insert.setString(2, "part " + id);
        insert.setBigDecimal(3, new BigDecimal("1.25"));
        insert.setTimestamp(4, made);
        insert.setBoolean(5, id % 2 == 0);
        insert.setDouble(6, 0.5 * id);
        insert.setLong(7, 1L << 40);
        check(insert.executeUpdate() == 1, "one row");
      }
    }
    try (PreparedStatement select = connection.prepareStatement("SELECT * FROM parts WHERE id = ?")) {
      for (int id = 1; id <= 5; id++) {
        select.setInt(1, id);
        try (ResultSet rows = select.executeQuery()) {
          check(rows.next(), "a row");
          check(rows.getString("name").equals("part " + id), rows.getString("name"));
          check(rows.getBigDecimal("price").equals(new BigDecimal("1.25")), "price");
          check(rows.getTimestamp("made").equals(made), "made " + rows.getTimestamp("made"));
          check(rows.getBoolean("ok") == (id % 2 == 0), "ok");
          check(rows.getDouble("weight") == 0.5 * id, "weight");
          check(rows.getLong("big") == 1L << 40, "big");
        }
      }
    }
  }

  static void batches(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO parts (id, name) VALUES (?, ?)")) {
      for (int id = 100; id < 1100; id++) {
        insert.setInt(1, id);
        insert.setString(2, "batch");
        insert.addBatch();
      }
      check(Arrays.stream(insert.executeBatch()).sum() == 1000, "a thousand rows");
    }
    connection.commit();
    connection.setAutoCommit(true);
  }

  static void fetchSize(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(64);
      int count = 0;
      try (ResultSet rows = statement.executeQuery("SELECT id FROM parts ORDER BY id")) {
        while (rows.next()) count++;
      }
      check(count == 1005, "all rows: " + count);
    }
    connection.rollback();
    connection.setAutoCommit(true);
  }

  static void transactions(Connection connection) throws SQLException {
    check(connection.getTransactionIsolation() == Connection.TRANSACTION_READ_COMMITTED, "level");
    connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    connection.setAutoCommit(false);
    Savepoint savepoint;
    try (Statement statement = connection.createStatement()) {
      statement.executeUpdate("UPDATE parts SET name = 'new' WHERE id = 1");
      savepoint = connection.setSavepoint("here");
      statement.executeUpdate("DELETE FROM parts");
      connection.rollback(savepoint);
      try {
        statement.executeUpdate("INSERT INTO parts (id, name) VALUES (1, 'x')");
        throw new AssertionError("a duplicate key was taken");
      } catch (SQLException error) {
        check(error.getSQLState().equals("23505"), error.getSQLState());
      }
    }
    connection.rollback();
    connection.setAutoCommit(true);
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
  }

  static void metadata(Connection connection) throws SQLException {
    DatabaseMetaData data = connection.getMetaData();
    check(data.getDatabaseProductName().equals("PostgreSQL"), data.getDatabaseProductName());
    Set<String> tables = new TreeSet<>();
    try (ResultSet rows = data.getTables(null, "public", "%", new String[] {"TABLE"})) {
      while (rows.next()) tables.add(rows.getString("TABLE_NAME"));
    }
    check(tables.contains("parts") && tables.contains("lines"), tables.toString());
    List<String> columns = new ArrayList<>();
    try (ResultSet rows = data.getColumns(null, "public", "parts", "%")) {
      while (rows.next()) {
        columns.add(rows.getString("COLUMN_NAME") + ":" + rows.getString("TYPE_NAME") + ":" + rows.getInt("COLUMN_SIZE") + ":" + rows.getInt("NULLABLE"));
      }
    }
    check(columns.get(0).equals("id:int4:10:0"), columns.toString());
    check(columns.get(1).equals("name:varchar:40:0"), columns.toString());
    check(columns.get(2).equals("price:numeric:10:1"), columns.toString());
    try (ResultSet rows = data.getPrimaryKeys(null, "public", "parts")) {
      check(rows.next() && rows.getString("COLUMN_NAME").equals("id"), "primary key");
    }
    try (ResultSet rows = data.getImportedKeys(null, "public", "lines")) {
      check(rows.next() && rows.getString("PKTABLE_NAME").equals("parts"), "foreign key");
      check(rows.getInt("DELETE_RULE") == DatabaseMetaData.importedKeyCascade, "cascade");
    }
    Set<String> indexes = new TreeSet<>();
    try (ResultSet rows = data.getIndexInfo(null, "public", "parts", false, false)) {
      while (rows.next()) indexes.add(rows.getString("INDEX_NAME"));
    }
    check(indexes.containsAll(List.of("parts_pkey", "parts_by_name")), indexes.toString());
  }
}
