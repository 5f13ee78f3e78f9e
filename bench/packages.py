"""Packages that a benchmark needs: in bench/.venv when they are not there."""

import importlib.util
import os
import subprocess
import sys

VENV = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".venv")
# What is compared with, and what is run, has a fixed version; some packages have other names than their modules.
VERSIONS = {"duckdb": "duckdb==2.0.0", "chdb": "chdb==4.4.0", "sqlalchemy": "sqlalchemy==2.1.9", "psycopg": "psycopg[binary]==3.3.4",
            "psycopg2": "psycopg2-binary==2.9.13", "django": "django==5.2.19", "pytest_timeout": "pytest-timeout"}


def ensure(*names):
    """Goes on in bench/.venv, with the packages installed there, unless all can be imported here."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return
    if os.environ.get("WEFT_BENCH_INSTALLED"):
        sys.exit(f"bench/.venv lacks {', '.join(missing)}: remove it and run again")
    python = os.path.join(VENV, "bin", "python")
    if not os.path.exists(python):
        subprocess.check_call([sys.executable, "-m", "venv", VENV])
    subprocess.check_call([python, "-m", "pip", "install", "-q", *(VERSIONS.get(name, name) for name in names)])
    os.execve(python, [python, *sys.argv], {**os.environ, "WEFT_BENCH_INSTALLED": "1"})
