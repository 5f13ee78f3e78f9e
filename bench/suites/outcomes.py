"""What became of each test: a line of JSON per test in the file that WEFT_OUTCOMES names.

For pytest a plugin (`-p outcomes`), for Django a test runner (`TEST_RUNNER = "outcomes.DjangoRunner"`). A line is flushed as
soon as its test has ended, so that a suite that is stopped keeps what it had.
"""

import atexit
import json
import os
import re

RANK = ["passed", "skipped", "failed"]
_lines, _worst = None, {}


def write(test, outcome, reason):
    global _lines
    if _lines is None:
        _lines = open(os.environ["WEFT_OUTCOMES"], "a", encoding="utf-8")
        atexit.register(_lines.close)
    _lines.write(json.dumps({"test": test, "outcome": outcome, "reason": reason}) + "\n")
    _lines.flush()


def causes(error):
    """The error, and what it was raised from, in its handlers' order; wrapped driver errors (`orig`) too."""
    found, waiting = [], [error]
    while waiting:
        here = waiting.pop(0)
        if here is None or here in found:
            continue
        found.append(here)
        waiting += [getattr(here, "orig", None), here.__cause__, here.__context__]
        waiting += list(getattr(here, "exceptions", ()))
    return found


def sqlstate(error):
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def without_names(text):
    """A message without what differs from test to test."""
    text = re.sub(r'"[^"]*"', '"…"', text)
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"0x[0-9a-f]+", "0x…", text)
    return re.sub(r"\d+(\.\d+)?", "N", text)[:160]


def reason(error):
    """The SQLSTATE and the message of the first error of the server in the chain, else the type and message of the error."""
    for one in causes(error):
        if sqlstate(one):
            diag = getattr(one, "diag", None)
            message = getattr(diag, "message_primary", None) or str(one)
            return f"{sqlstate(one)}: {without_names(message.splitlines()[0])}"
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {without_names(lines[0])}"


# pytest. Its hooks are found by their names.

try:
    import pytest
except ImportError:
    pytest = None


if pytest:

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        report = (yield).get_result()
        why = ""
        if report.outcome == "failed":
            why = reason(call.excinfo.value) if call.excinfo else str(report.longrepr)[:160]
        elif report.outcome == "skipped":
            why = without_names(str(getattr(call.excinfo, "value", "")).splitlines()[0]) if call.excinfo else ""
        before = _worst.get(item.nodeid, ("passed", ""))
        if RANK.index(report.outcome) > RANK.index(before[0]):
            _worst[item.nodeid] = (report.outcome, why)
        if report.when == "teardown":
            write(item.nodeid, *_worst.pop(item.nodeid, ("passed", "")))


def pytest_collectreport(report):
    if report.failed:
        write(f"{report.nodeid} (collected)", "failed", without_names(str(report.longrepr).splitlines()[-1]))


# Django.

try:
    import unittest

    from django.test.runner import DiscoverRunner
except ImportError:
    DiscoverRunner = None


if DiscoverRunner:

    class DjangoResult(unittest.TextTestResult):
        """Writes what becomes of each test; a subtest's failure is its test's."""

        failed_subtest = None

        def startTest(self, test):
            self.failed_subtest = None
            super().startTest(test)

        def addSuccess(self, test):
            super().addSuccess(test)
            write(test.id(), "failed" if self.failed_subtest else "passed", self.failed_subtest or "")

        def addError(self, test, err):
            super().addError(test, err)
            write(test.id(), "failed", reason(err[1]))

        def addFailure(self, test, err):
            super().addFailure(test, err)
            write(test.id(), "failed", reason(err[1]))

        def addSkip(self, test, why):
            super().addSkip(test, why)
            write(test.id(), "skipped", without_names(why))

        def addExpectedFailure(self, test, err):
            super().addExpectedFailure(test, err)
            write(test.id(), "skipped", "expected failure")

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            write(test.id(), "failed", "unexpected success")

        def addSubTest(self, test, subtest, err):
            super().addSubTest(test, subtest, err)
            if err is not None:
                self.failed_subtest = reason(err[1])
                write(test.id(), "failed", self.failed_subtest)

    class DjangoRunner(DiscoverRunner):
        """Django's runner with results that are written down."""

        def get_resultclass(self):
            return DjangoResult
