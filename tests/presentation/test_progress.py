"""Progress bars: nothing of short work, nothing where nobody looks, and something of everything that takes long."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tqdm

from ldpstats.presentation import progress

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
termios = pytest.importorskip("termios")

ROOT = Path(__file__).parents[2]

LONG_WORK = """
import sys
import numpy as np
import ldpstats as ldp
from ldpstats.attacks.auditing import audits
from ldpstats.conformance import certify
from ldpstats.mechanisms import GRR
from ldpstats.report import report_page
sys.modules["ldpstats.presentation.progress"]._DELAY = 0.0
domain = ldp.Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
people = domain.decode(np.random.default_rng(1).integers(2, size=(600, 3)))
protocol = ldp.SampledGroups(domain, epsilon=2.0)
tables = protocol.tables(protocol.reports(people, rng=1))
protocol.collect(people, rng=1) + protocol.simulate(people, rng=1)
rrba = ldp.RRBA(domain, epsilon=2.0)
rrba.tables(rrba.reports(people, rng=1)), rrba.simulate(people, rng=1)
ldp.CentralLaplace(domain, epsilon=2.0).simulate(people, rng=1)
ldp.independence_tests(tables)
ldp.independence_test(tables["a", "b"], pvalue=ldp.MonteCarlo(99, rng=1))
ldp.reconstruct(tables, ["a", "b", "c"]), ldp.reconstruct(tables, ["a", "b", "c"], "em", n_resamples=9)
tables["a", "b"].bounds()
ldp.fit_parameters(tables, ldp.learn_network(tables).network.parents)
ldp.plots.raw_against_private(tables, people), ldp.mechanisms(k=4)
report_page(tables)
ldp.poisoning_table(k=4), ldp.plan("grr", (2, 2), epsilon=1.0)
ldp.power_curve("grr", (2, 2), epsilon=1.0, n=100), ldp.sample_size_curve("grr", (2, 2), epsilon=1.0)
list(audits(GRR, settings=2, k=4, n=1000, rng=1))
"""
SOME_OF_IT = LONG_WORK.split("rrba =", maxsplit=1)[0]
SHOWN = (
    *("asking", "writing rows", "reading rows", "counting", "simulating", "independence tests", "Monte Carlo"),
    *("maximizing the entropy", "maximizing the likelihood", "fitting again", "testing pairs", "learning again"),
    *("adding tables up", "intervals", "mechanisms", "auditing", "bounds", "planning", "power", "sample sizes"),
    *("fitting", "smoothing", "comparing", "writing sections", "drawing"),
)


def on_a_terminal(code: str) -> str:
    """Return what a process writes to its standard error where that is a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        read = bytearray()
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the terminal is closed by whoever wrote to it
                break
            if not part:
                break
            read += part
    os.close(ours)
    assert process.returncode == 0, read.decode()
    return read.decode()


def test_short_work_and_work_without_a_terminal_show_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(progress(range(3), "counting")) == [0, 1, 2]
    with progress(None, "counting", total=5, unit="row") as bar:
        bar.update(5)
    assert capfd.readouterr() == ("", "")


def test_a_notebook_is_no_terminal() -> None:
    """Widgets are made at once and kept, which is much for work that is done in a millisecond."""
    assert type(progress([], "counting")) is tqdm.tqdm


def test_long_work_shows_itself_on_a_terminal_and_nowhere_else() -> None:
    """What takes two seconds is made to take none: every bar is seen, and taken away when the work is done."""
    seen = on_a_terminal(LONG_WORK)
    missing = [words for words in SHOWN if f"{words}:" not in seen]
    assert not missing
    assert not re.sub(r"[^\r\n]*\r", "", seen).strip(), "something was left on the terminal"
    done = subprocess.run([sys.executable, "-c", SOME_OF_IT], cwd=ROOT, capture_output=True, check=True)
    assert done.stderr == b""


def test_a_bar_goes_on_where_quick_parts_are_followed_by_slow_ones() -> None:
    """As pages do, whose pictures take long behind paragraphs that take no time."""
    seen = on_a_terminal("""
import sys, time
from ldpstats.presentation import progress
sys.modules["ldpstats.presentation.progress"]._DELAY = 0.0
for place in progress(range(43), "drawing"):
    time.sleep(0.01 if place < 40 else 0.2)
""")
    assert [f" {done}/43" in seen for done in (41, 42)] == [True, True]


def test_what_is_done_at_once_shows_nothing_on_a_terminal() -> None:
    assert on_a_terminal(SOME_OF_IT.replace("_DELAY = 0.0", "_DELAY")) == ""
