"""Programmes over the columns of channels: the least variance, the most information, and what no channel surpasses."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.inference.engine.detectability import departures, product_of
from ldpstats.numbers.arrays import BoolArray, FloatArray

ENUMERATED = 16
"""Up to so many cells all sets of cells are gone through."""
_ROUNDS = 60
_CLOSE = 3e-5
"""Programmes stop within this share of their bound, or after so many rounds; the bound holds in any case."""
_DRAWN = 1 << 14
_COLUMNS = 200
_KEPT = 800
_NEGLIGIBLE, _RARE, _SPARE = 1e-7, 1e-5, 2e-4
SEEN = {1: 0.05, 2: 0.25}
"""How well every direction is seen at least, beside those tested: independence is not tested without the margins."""


def least_variance(
    targets: FloatArray, epsilon: float, mixes: FloatArray, squares: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return a channel, what its outputs count for, and a variance that none goes below, for targets from -1 to 1.

    Outputs count on average for the target, under every value. Made least is the largest of the mean squares of what
    they count for, over mixes of values, less the `squares`. Each output is e^ε times as likely under a set of values
    as under the others (the columns of Kairouz, Oh & Viswanath 2016), so that with what they count for fixed, this is a
    linear programme in their masses. Further outputs are those whose price in its dual is negative: for a count w that
    is Σ h(c w² - b w - a), h(x) = x where it is positive and e^ε x elsewhere, a quadratic between the roots.
    """
    from scipy.optimize import linprog

    k, least, bit = targets.size, math.exp(-epsilon), 1 / math.tanh(epsilon / 2)
    # beside what a single bit counts for
    targets, squares = targets / bit, squares / bit**2
    # at first the sets of all values from one on, upwards or downwards, and at high levels of those in between two
    counts, first = np.repeat(np.linspace(-2, 2, 21), k), np.tile(targets, 21)[:, None]
    favoured: BoolArray = np.where(counts[:, None] < 0, targets <= first, targets >= first)
    starts, ends = np.triu_indices(k)
    favoured = np.vstack([favoured, (starts[:, None] <= np.arange(k)) & (np.arange(k) <= ends[:, None])])
    counts = np.append(counts, (targets[starts] + targets[ends]) / 2)
    bound = -math.inf
    for left in reversed(range(_ROUNDS)):
        likely = np.where(favoured, 1.0, least).T
        equal = np.vstack([likely, likely * counts])
        solved: Any = linprog(
            np.append(np.zeros(counts.size), 1.0),
            A_ub=np.column_stack([mixes @ (likely * counts**2), -np.ones(len(mixes))]),
            b_ub=squares,
            A_eq=np.column_stack([equal, np.zeros(2 * k)]),
            b_eq=np.concatenate([np.ones(k), targets]),
            method="highs-ds",
            options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
        )
        if solved.status:
            raise too_few_digits(epsilon)
        constant, slope = np.split(solved.eqlin.marginals, 2)
        share = np.maximum(-solved.ineqlin.marginals, 0)
        share /= share.sum()
        curve = share @ mixes
        further = _lowest_points(curve, slope, constant, least)
        brackets = curve * further[:, None] ** 2 - slope * further[:, None] - constant
        prices = np.where(brackets > 0, least, 1.0) * brackets
        # lower constants make all prices positive
        repaired = min(prices.sum(axis=1).min(), 0.0) / least
        bound = max(bound, float(constant.sum() + slope @ targets - share @ squares + repaired))
        masses = solved.x[:-1]
        if solved.fun - bound <= _CLOSE * solved.fun or not left:
            break
        spare = np.where(masses > 0, -1.0, solved.lower.marginals[:-1])
        kept, new = np.argsort(spare, kind="stable")[:_KEPT], prices.sum(axis=1) < 0
        sides = brackets[new] < 0
        favoured = np.vstack([favoured[kept], sides | ~sides.any(axis=1, keepdims=True)])
        counts = np.concatenate([counts[kept], further[new]])
    used = masses > _NEGLIGIBLE * masses.max()
    # equal columns are one output, which counts for their mean: no variance grows
    sets, merged = np.unique(favoured[used], axis=0, return_inverse=True)
    total = np.bincount(merged.ravel(), masses[used])
    means = np.bincount(merged.ravel(), masses[used] * counts[used]) / total
    return np.where(sets, 1.0, least).T * total, means * bit, bound * bit**2


def _lowest_points(curve: FloatArray, slope: FloatArray, constant: FloatArray, least: float) -> FloatArray:
    """Return where the price is least between any two neighbouring roots of c w² - b w - a."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(slope**2 + 4 * constant * curve)
        crossings = np.concatenate([(slope + root) / (2 * curve), (slope - root) / (2 * curve), -constant / slope])
    ends = np.unique(crossings[np.isfinite(crossings)])
    inside = np.concatenate([[ends[0] - 1], (ends[1:] + ends[:-1]) / 2, [ends[-1] + 1]])[:, None]
    weight = np.where(curve * inside**2 - slope * inside - constant > 0, least, 1.0)
    lowest: FloatArray = (weight @ slope) / (2 * (weight @ curve))
    return np.unique(np.clip(lowest, np.append(-np.inf, ends), np.append(ends, np.inf)))


def most_information(margins: Sequence[FloatArray], epsilon: float) -> tuple[FloatArray, float]:
    """Return a channel that tells much of departures from the product of margins, and what none surpasses on average.

    What a report tells of departures of unit size, the margins being unknown, is the Schur complement of an
    information that is linear in the masses of the columns: concave, and below its tangents, whose largest value is a
    linear programme's over all sets of cells. Of many cells sets are drawn; the bound is then that of all directions
    together, at most sinh²(ε/2).
    """
    import cvxpy
    from cvxpy.atoms.affine.reshape import reshape
    from cvxpy.atoms.matrix_frac import matrix_frac

    product, (wanted, free) = product_of(margins), departures(margins)
    number, sides, least = wanted.shape[1], wanted.shape[1] + free.shape[1], math.exp(-epsilon)
    seen_at_least = SEEN[len(margins)] / number
    likely = np.where(_sets(product.size, epsilon), 1.0, least)
    mass = likely @ product
    # the most that a report can tell of all directions: its outputs have sets of this share of the respondents
    share = max(1 / (1 + 1 / least), float(product.min()))
    most = (1 - least) ** 2 * share * (1 - share) / (least + (1 - least) * share) ** 2
    seen = likely @ np.hstack([wanted, free]) / np.sqrt(most * mass)[:, None]
    columns = _foremost(np.square(seen[:, :number]).sum(axis=1) / mass) | _foremost(np.square(seen).sum(axis=1) / mass)
    columns[: product.size] = True  # randomized response is among them
    bound = math.inf
    for left in reversed(range(_ROUNDS)):
        masses: Any = cvxpy.Variable(int(columns.sum()), nonneg=True)
        squares = (seen[columns][:, :, None] * seen[columns][:, None, :]).reshape(-1, sides**2)
        information: Any = reshape(squares.T @ masses, (sides, sides), order="C")
        information = (information + information.T) / 2
        total: Any = np.square(seen[columns, :number]).sum(axis=1) @ masses
        taken: Any = matrix_frac(information[number:, :number], information[number:, number:]) if sides > number else 0
        whole: Any = likely[columns].T @ masses == 1
        floor: Any = information >> (1 + _SPARE) * seen_at_least * total * np.eye(sides)
        problem: Any = cvxpy.Problem(cvxpy.Maximize(total - taken), [whole, floor])
        with warnings.catch_warnings(), suppress(cvxpy.SolverError):
            # of inaccurate solutions, whose distance from the best the bound tells
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver=cvxpy.CLARABEL)
        if masses.value is None:
            raise too_few_digits(epsilon)
        # the tangent at this information
        cross, own = information.value[:number, number:], information.value[number:, number:]
        beside = np.hstack([np.eye(number), -cross @ np.linalg.pinv(own, hermitian=True)])
        prices, axes = np.linalg.eigh(floor.dual_value)
        gain = beside.T @ beside + (axes * np.maximum(prices, 0)) @ axes.T
        floored = seen_at_least * np.maximum(prices, 0).sum()
        gain[:number, :number] -= (1 + _SPARE) * floored * np.eye(number)
        surplus = (((seen @ gain) * seen).sum(axis=1) - likely @ whole.dual_value) / mass
        bound = min(bound, float(_SPARE * floored + whole.dual_value.sum() + max(surplus.max(), 0.0)))
        if bound - problem.value <= _CLOSE * problem.value + _SPARE * floored or not left:
            break
        columns[columns] = masses.value > _NEGLIGIBLE * masses.value.max()
        columns[: product.size] = True
        columns |= _foremost(surplus)
    used = masses.value > _RARE * masses.value.max()
    outputs, kept = likely[columns][used].T, masses.value[used]
    # each in proportion, so that none becomes negative
    kept *= 1 + np.linalg.lstsq(outputs * kept, 1 - outputs @ kept)[0]
    surpassed_by_none = most * (bound if product.size <= ENUMERATED else 1)
    return outputs * kept, surpassed_by_none / number


def too_few_digits(epsilon: float) -> LdpstatsError:
    """Return the error about what a solver cannot find, or not well enough."""
    return LdpstatsError(f"epsilon = {epsilon!r}, for which the solver's digits are too few", "a level nearer to 1")


def _sets(cells: int, epsilon: float) -> BoolArray:
    """Return sets of cells, those of one cell first: all but none and the whole, or drawn ones of good size."""
    if cells <= ENUMERATED:
        sets = np.arange(1, (1 << cells) - 1)[:, None] >> np.arange(cells) & 1 == 1
    else:
        sets = np.random.default_rng(0).random((_DRAWN, cells)) < 1 / (math.exp(epsilon) + 1)
    several = sets[(sets.sum(axis=1) > 1) & ~sets.all(axis=1)]
    return np.vstack([np.eye(cells, dtype=np.bool_), several])


def _foremost(worth: FloatArray) -> BoolArray:
    """Mark the columns of most worth; of equal ones any, so that no cell is favoured by its place."""
    mixed = np.random.default_rng(0).permutation(worth.size)
    order = np.lexsort((mixed, -np.round(worth / np.abs(worth).max(), 9)))
    marked = np.zeros(worth.size, dtype=np.bool_)
    marked[order[:_COLUMNS]] = True
    return marked
