"""SQLAlchemy 2 against Weft: tables made from a model, an ORM round trip, reflection."""

import datetime as dt
import decimal
import enum

from sqlalchemy import CheckConstraint, ForeignKey, Index, MetaData, Numeric, String, create_engine, inspect, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(50), unique=True)
    since: Mapped[dt.date | None]
    orders: Mapped[list["Order"]] = relationship(back_populates="customer", cascade="all, delete-orphan")


class State(enum.Enum):
    new = 1
    sent = 2


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = (Index("orders_by_day", "day"), CheckConstraint("amount > 0", name="amount_is_positive"))
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id", ondelete="CASCADE"))
    amount: Mapped[decimal.Decimal] = mapped_column(Numeric(12, 2))
    state: Mapped[State] = mapped_column(default=State.new)
    day: Mapped[dt.datetime] = mapped_column(default=lambda: dt.datetime(2026, 11, 21, 8, 0))
    customer: Mapped[Customer] = relationship(back_populates="orders")


def main():
    engine = create_engine("postgresql+psycopg://")
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        anna = Customer(name="Anna", since=dt.date(2020, 1, 2))
        anna.orders = [Order(amount=decimal.Decimal("10.50")), Order(amount=decimal.Decimal("3.25"))]
        session.add_all([anna, Customer(name="Bo")])
        session.commit()
    with Session(engine) as session:
        anna = session.scalars(select(Customer).where(Customer.name == "Anna")).one()
        assert sum(order.amount for order in anna.orders) == decimal.Decimal("13.75")
        assert len(session.scalars(select(Order).where(Order.state == State.new)).all()) == 2
        anna.orders.pop()
        anna.orders[0].state = State.sent
        session.commit()
        assert [order.state for order in session.scalars(select(Order))] == [State.sent]
    reflection(engine)
    Base.metadata.drop_all(engine)
    assert "orders" not in inspect(engine).get_table_names()
    assert "state" not in {one["name"] for one in inspect(engine).get_enums()}
    print("sqlalchemy: ok")


def reflection(engine):
    inspector = inspect(engine)
    assert {"customers", "orders"} <= set(inspector.get_table_names())
    columns = {column["name"]: column for column in inspector.get_columns("orders")}
    assert str(columns["amount"]["type"]) == "NUMERIC(12, 2)" and not columns["amount"]["nullable"], columns["amount"]
    assert inspector.get_pk_constraint("orders")["constrained_columns"] == ["id"]
    key = inspector.get_foreign_keys("orders")[0]
    assert (key["referred_table"], key["constrained_columns"]) == ("customers", ["customer_id"]), key
    assert key["options"] == {"ondelete": "CASCADE"}, key
    assert [index["name"] for index in inspector.get_indexes("orders")] == ["orders_by_day"]
    assert inspector.get_unique_constraints("customers")[0]["column_names"] == ["name"]
    checks = inspector.get_check_constraints("orders")
    assert [check["name"] for check in checks] == ["amount_is_positive"], checks
    assert {one["name"]: one["labels"] for one in inspector.get_enums()}["state"] == ["new", "sent"]
    reflected = MetaData()
    reflected.reflect(engine, only=["orders", "customers"])
    assert reflected.tables["customers"].columns["name"].type.length == 50


main()
