"""Smoothed rows: proportions given the parents, drawn towards others as far as reports tell little about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpstats.arrays import FloatArray

_EMPTY = 1e-12
_HALVINGS = 60
_LEAST_SPREAD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedRows:
    """The proportions of an attribute's categories given its parents, and how well they are known.

    How well is said in respondents: so many of them, asked without noise, would leave the same variance.

    Parameters
    ----------
    proportions : array, shape (..., categories, rows)
        A row for each combination of the parents' categories, as a column; even ones where nobody has it.
    variances : array, shape (..., rows)
        The sum of the variances of a row's proportions; infinite where nobody has these parents' categories.
    """

    proportions: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, cells: FloatArray, covariance: FloatArray) -> SmoothedRows:
        """Divide the cells of a family by the sums of their rows; variances are those of the delta method.

        Parameters
        ----------
        cells : array, shape (..., categories, rows)
            Proper ones.
        covariance : array, shape (cells, cells)

        Examples
        --------
        100 respondents without noise; those who have the parent's second category all give the same answer:

        >>> cells = np.array([[0.4, 0.0], [0.1, 0.5]])
        >>> spread = (np.diag(cells.ravel()) - np.outer(cells, cells)) / 100
        >>> rows = SmoothedRows.of(cells, spread)
        >>> rows.proportions.round(2), rows.variances.round(4), rows.respondents(0.32).round(1)
        (array([[0.8, 0. ],
               [0.2, 1. ]]), array([0.0064, 0.    ]), array([50., inf]))
        """
        own, many = cells.shape[-2:]
        within = np.einsum("icjc->cij", covariance.reshape(own, many, own, many))
        totals = cells.sum(axis=-2)
        held = totals > _EMPTY
        shares = np.divide(cells, totals[..., None, :], out=np.full(cells.shape, 1 / own), where=held[..., None, :])
        # of the cells less the proportions of their sum, which is what the proportions vary by
        crossed = np.einsum("...ic,cij->...c", shares, within)
        left = np.einsum("cii->c", within) - 2 * crossed + (shares**2).sum(axis=-2) * within.sum(axis=(1, 2))
        variances = np.divide(np.maximum(left, 0), totals**2, out=np.full(totals.shape, np.inf), where=held)
        return cls(shares, variances)

    def respondents(self, spread: float | FloatArray) -> FloatArray:
        """Return how many respondents without noise would leave the same variances.

        Parameters
        ----------
        spread : float or array, shape (...)
            The sum of the variances of one such respondent's answers.
        """
        wide = np.broadcast_to(np.asarray(spread, dtype=float)[..., None], self.variances.shape)
        known: FloatArray = np.divide(wide, self.variances, out=np.full(wide.shape, np.inf), where=self.variances > 0)
        return known

    def towards(self, others: FloatArray, weight: float | FloatArray, spread: float | FloatArray) -> FloatArray:
        """Return the rows' proportions averaged with others, which count for so many respondents.

        Parameters
        ----------
        others : array, shape (..., categories, rows)
        weight : float or array, shape (...)
        spread : float or array, shape (...)
            As in `respondents`.
        """
        known, added = self.respondents(spread), np.asarray(weight, dtype=float)[..., None]
        total = known + added
        # nothing known, and nothing to be added: there the others are all that there is
        share = np.divide(added, total, out=np.ones_like(total), where=total > 0)[..., None, :]
        return np.asarray((1 - share) * self.proportions + share * others)

    def weight_of_margin(self, margin: FloatArray, least: float) -> FloatArray:
        """Return how many respondents the margin is worth, beside those of each row: an empirical-Bayes estimate.

        It belongs to the variance τ² of true rows around the margin, which is found as Paule & Mandel (1982) do: the
        squared distances of the rows, each over its expectation τ² + variance, add up to one less than there are
        rows. As of a Dirichlet prior with these parameters in all, τ² = spread / (weight + 1).

        Parameters
        ----------
        margin : array, shape (..., categories)
        least : float
            The least weight.
        """
        told = np.isfinite(self.variances)
        distances = ((self.proportions - margin[..., None]) ** 2).sum(axis=-2)
        variances = np.where(told, np.maximum(self.variances, np.finfo(float).tiny), 1.0)
        spread = spread_of(margin)
        low, high = np.zeros(spread.shape), np.full(spread.shape, 2.0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ratios = np.where(told, distances / (variances + middle[..., None]), 0).sum(axis=-1)
            more = ratios > told.sum(axis=-1) - 1
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return np.asarray(np.maximum(spread / np.maximum(high, _LEAST_SPREAD) - 1, least))


def spread_of(margin: FloatArray) -> FloatArray:
    """Return the sum of the variances of the categories of one respondent.

    Parameters
    ----------
    margin : array, shape (..., categories)
    """
    return np.asarray((margin * (1 - margin)).sum(axis=-1))
