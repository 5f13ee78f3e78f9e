"""A pytest plugin: SQLAlchemy's tests do without the extensions citext and hstore, which they would create before they begin."""

import sys


def pytest_sessionstart():
    provision = sys.modules.get("sqlalchemy.dialects.postgresql.provision")
    if provision is None:
        import sqlalchemy.dialects.postgresql.provision as provision
    provision._extensions.clear()


pytest_sessionstart.pytest_impl = {"tryfirst": True}
