"""A pytest plugin: SQLAlchemy's tests do without the extensions citext and hstore, which they would create before they begin."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart():
    from sqlalchemy.dialects.postgresql import provision

    provision._extensions.clear()
