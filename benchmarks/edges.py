"""Edges: every mechanism where k and ε are as odd as can be: a right answer or the project's own error, soon and small.

    python benchmarks/edges.py            all mechanisms, some minutes
    python benchmarks/edges.py she l-olh  some of them

A finding is an exception of another kind, a wrong answer, more than two seconds or more than a gigabyte.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

import ldpstats as ldp
from ldpstats.mechanisms import REGISTRY
from ldpstats.mechanisms.base import Mechanism

HUGE = 10**400
ALPHABETS: tuple[object, ...] = (
    *(2, 3, 17, 257, 5000, 20_263, 10**6, 2**31, 2**31 + 2, 2**32 - 1, 2**32, 2**62 - 1, 2**62, 2**63, HUGE, 10**5000),
    *(0, 1, -1, -HUGE, 2.0, 2.5, math.nan, math.inf, None, "3", True, [3]),
    *(np.int64(3), np.uint8(255), np.float64(3), np.array([2, 3])),
)
LEVELS: tuple[object, ...] = (
    *(1e-320, 1e-300, 1e-98, 1e-59, 1e-30, 1e-16, 1e-12, 1e-9, 1e-6, 0.5, 1.0, 20.0, 60.0, 700.0, 1e6, 1.1e6, 1e308),
    *(0, -1.0, 1, HUGE, -HUGE, math.inf, math.nan, None, "1", True, 1j, [1.0], Fraction(1, 3), Fraction(HUGE)),
    *(Decimal("0.5"), np.float32(0.5), np.float64(1), np.int64(1), np.longdouble(0.5), np.array([1.0, 2.0])),
)
SECONDS, BYTES = 2.0, 1 << 30
_HUNG = 20
_FEW = 20_263
_ODD = ([1, [2]], "x", None, [HUGE], np.ma.masked_array([0, 1], [True, False]), [math.nan], -1, [[[0]]])


def shown(value: object) -> str:
    """Print a value, however large a number it is."""
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool) and abs(value) > 2**64:
        return f"{'-' if value < 0 else ''}10**{Decimal(int(abs(value))).adjusted()}"
    return repr(value)


def _is_privatized(one: Mechanism) -> None:
    values = sorted({0, one.k // 2, one.k - 1})
    tally = one.count(one.privatize(values, rng=1))
    assert tally.n == len(values)
    assert np.all(np.isfinite(one.estimate(tally).estimate))


def _is_counted_as_numbers(one: Mechanism) -> None:
    reports = one.privatize([0], rng=2)
    assert np.array_equal(one.count(reports.data.tolist()).counts, one.count(reports).counts)


def _is_simulated(one: Mechanism) -> None:
    people = np.ones(one.k, dtype=np.int64) if one.k <= _FEW else [3, 4]
    found = one.estimate(one.simulate(people, rng=3))
    assert np.all(np.isfinite(found.estimate))
    assert np.all(np.isfinite(found.std_err))


def _is_modelled(one: Mechanism) -> None:
    noise = one.noise
    assert noise.cells == one.k
    frequencies = np.full(one.k, 1 / one.k)
    mean = noise.mean(frequencies)
    assert np.all(mean >= -np.finfo(float).eps)
    spread = math.sqrt(float(np.max(one.variance(frequencies, 1))))
    assert np.allclose(noise.debias(mean), frequencies, atol=1e-6 * spread)


def _has_a_variance(one: Mechanism) -> None:
    assert 0 < one.variance(0.1, 10) < math.inf


def _keeps_its_level(one: Mechanism) -> None:
    assert 0 < Fraction(one.strict_epsilon()) <= Fraction(one.epsilon)
    assert one.privacy().epsilon == one.strict_epsilon()
    ratio = one.likelihood_ratio()
    assert ratio is not None
    assert ratio >= 1
    assert isinstance(one.slack_reason, str)


def _is_printed(one: Mechanism) -> None:
    plain = one.to_dict()
    assert ldp.mechanism(plain.pop("name"), **plain) == one
    assert repr(one)
    assert isinstance(hash(one), int)
    assert one.report_bits >= 1
    assert one.report_format.shape(3)[0] == 3


def _refuses_odd_reports(one: Mechanism) -> None:
    for odd in _ODD:
        _refuse(one.count, odd)


def _refuses_odd_values(one: Mechanism) -> None:
    for odd in (*_ODD, [one.k]):
        _refuse(one.privatize, odd)
        _refuse(one.simulate, odd)
        _refuse(lambda value: one.variance(value, 10), odd)


def _refuse(call: Callable[[object], object], odd: object) -> None:
    try:
        call(odd)
    except ldp.LdpstatsError:
        return
    raise AssertionError(f"{odd!r} was taken")


STEPS: tuple[Callable[[Mechanism], None], ...] = (
    _is_privatized,
    _is_counted_as_numbers,
    _is_simulated,
    _is_modelled,
    _has_a_variance,
    _keeps_its_level,
    _is_printed,
)
ONCE: tuple[Callable[[Mechanism], None], ...] = (_refuses_odd_reports, _refuses_odd_values)


def tried(step: Callable[[], object]) -> str:
    """Return what is wrong with one step; nothing if it gave an answer or refused."""
    start, busy = time.perf_counter(), time.process_time()
    try:
        step()
    except ldp.LdpstatsError:
        pass
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:160]} ({Path(where.filename).name}:{where.lineno})"
    # on a shared machine the wall clock counts what others do, and the process clock what other threads do
    spent = min(time.perf_counter() - start, time.process_time() - busy)
    return f"{spent:.1f} s" if spent > SECONDS else ""


def findings(name: str, k: object, epsilon: object) -> Iterator[str]:
    """Try everything with one mechanism at one k and ε."""
    made: list[Mechanism] = []
    here = f"{name} k={shown(k)} epsilon={shown(epsilon)}"
    wrong = tried(lambda: made.append(ldp.mechanism(name, k=k, epsilon=epsilon)))  # type: ignore[arg-type]  # on purpose
    if wrong:
        yield f"{here} made: {wrong}"
    for one in made:
        for step in (*STEPS, *(ONCE if one.epsilon == 1 else ())):
            wrong = tried(lambda one=one, step=step: step(one))  # type: ignore[misc]  # bound now
            if wrong:
                yield f"{here} {step.__name__}: {wrong}"


def in_a_child(name: str, k: object, levels: Sequence[object] = LEVELS) -> list[str]:
    """Try one alphabet in a process of its own, which may use a gigabyte more than it has, and stops when it hangs."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        with os.fdopen(writing, "w") as out:
            for epsilon in levels:
                signal.setitimer(signal.ITIMER_PROF, _HUNG)  # the default action ends the child
                for line in findings(name, k, epsilon):
                    print(line, file=out, flush=True)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        lines = told.read().splitlines()
    _, status = os.waitpid(child, 0)
    return lines + ([f"{name} k={shown(k)}: hung or died ({status})"] if status else [])


def main(names: Sequence[str]) -> int:
    """Print the findings; the exit code says whether there were any."""
    for kind in REGISTRY:  # compiles the kernels once, before there are children
        one = ldp.mechanism(kind.name, k=kind.only_k or 3, epsilon=1.0)
        one.estimate(one.privatize([0, 1], rng=1))
    total = 0
    for kind in REGISTRY:
        for k in ALPHABETS if not names or kind.name in names else ():
            lines = in_a_child(kind.name, k)
            total += len(lines)
            for line in lines:
                print(line, flush=True)
    cases = len(names or REGISTRY) * len(ALPHABETS) * len(LEVELS)
    print(f"{total} findings in {cases:,} cases")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
