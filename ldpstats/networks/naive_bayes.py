"""Naive Bayes classifiers from tables of each feature with the label (Yilmaz et al. 2019, Xue et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence

from ldpstats.arrays import unweighted
from ldpstats.columns import listed
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.networks.classifier import Classifier
from ldpstats.networks.parameters import fit_parameters
from ldpstats.tables import TableSet, checked_table_set


@unweighted
def naive_bayes(tables: TableSet, label: str, *, features: Sequence[str] | None = None) -> Classifier:
    """Fit a naive Bayes classifier: every feature depends on the label, and on nothing else.

    What it takes are pairs of a feature's value and the label, encoded together before they are randomized (Yilmaz et
    al. 2019), or wider tables that hold both (Xue et al. 2019). Each report counts once; the label's frequencies are
    those of all reports about it.

    Parameters
    ----------
    tables : TableSet
        `SampledGroups(domain, epsilon=..., groups=[(feature, label), ...])` asks for no more than is needed.
    label : str
        What is to be predicted.
    features : sequence of str, optional
        From what; by default from all attributes that were asked together with the label.

    Returns
    -------
    Classifier

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, naive_bayes
    >>> domain = Domain({"ill": ["yes", "no"], "cough": ["yes", "no"], "fever": ["yes", "no"]})
    >>> protocol = SampledGroups(domain, epsilon=3.0, groups=[("cough", "ill"), ("fever", "ill")])
    >>> people = np.array([30, 10, 10, 5, 2, 8, 10, 100]) * 1000
    >>> classifier = naive_bayes(protocol.simulate(people, rng=1), "ill")
    >>> classifier.predict(domain.decode([[0, 0, 0], [0, 1, 1]])).tolist()
    ['yes', 'no']
    """
    known, left_out = features_with(tables, label, features)
    fitted = fit_parameters(tables, dict.fromkeys(known, (label,)))
    assumption = f"features are independent of each other among people with the same {label}"
    return Classifier("Naive Bayes", label, fitted, assumption, notes_on_others(left_out, features is None))


def notes_on_others(left_out: Sequence[str], by_default: bool) -> tuple[str, ...]:
    """Say which attributes are no features because they were not asked together with the label."""
    return (
        (f"Not asked together with the label, and left out: {', '.join(left_out)}.",) if left_out and by_default else ()
    )


def features_with(
    tables: TableSet, label: str, features: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the features that were asked together with a label, and all other attributes, in the domain's order.

    Parameters
    ----------
    tables : TableSet
    label : str
    features : sequence of str, optional
        Those that are wanted, each of which must have been asked so.
    """
    checked_table_set(tables)
    (label,) = tables.domain.project([label]).names
    together = {name for table in tables if label in table.attributes and table.n for name in table.attributes}
    others = [name for name in tables.domain.names if name != label]
    if not others:
        raise LdpstatsError(f"tables about {label!r} alone", "tables about at least one feature as well")
    chosen = others if features is None else _named(tables, label, features)
    lacking = [name for name in chosen if name not in together]
    if (lacking and features is not None) or len(lacking) == len(chosen):
        wanted = [(name, label) for name in lacking]
        raise NotIdentifiedError(
            f"no reports about {label!r} together with {one_line(lacking)}",
            "features that were asked together with the label",
            f"SampledGroups(domain, epsilon=..., groups=[{one_line(wanted)}]) asks for them.",
        )
    known = tuple(name for name in others if name in chosen and name in together)
    return known, tuple(name for name in others if name not in known)


def _named(tables: TableSet, label: str, features: Sequence[str]) -> tuple[str, ...]:
    chosen = tables.domain.project(listed(features)).names
    if label in chosen:
        raise LdpstatsError(f"the label {label!r} among the features", "other attributes as features")
    return chosen
