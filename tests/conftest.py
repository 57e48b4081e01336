"""Fixtures for all tests."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

import ldpstats as ldp

# the same examples in every run, and no clock: a slow machine is not a failure
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


def pytest_collection_finish() -> None:
    """Let no garbage collection look at the tests themselves: statsmodels' `multipletests` makes one in every call."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def numpy_global_generator_is_untouched() -> Iterator[None]:
    before = np.random.get_state()  # noqa: NPY002  # only read
    yield
    after = np.random.get_state()  # noqa: NPY002  # only read
    assert np.array_equal(before[1], after[1]), "something drew from numpy's global generator"
    assert before[2:] == after[2:], "something drew from numpy's global generator"


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """More than twenty open figures are a warning."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def people() -> pd.DataFrame:
    """Return 3,000 respondents with three attributes, the first two of them dependent."""
    rng = np.random.default_rng(11)
    sex = rng.choice(["F", "M"], 3000)
    car = np.where(rng.random(3000) < np.where(sex == "F", 0.3, 0.6), "yes", "no")
    return pd.DataFrame({"sex": sex, "car": car, "age": rng.choice(["young", "adult", "old"], 3000)})


@pytest.fixture
def domain() -> ldp.Domain:
    """Return the domain of the respondents, in an order of its own."""
    return ldp.Domain({"age": ["young", "adult", "old"], "sex": ["F", "M"], "car": ["yes", "no"]})
