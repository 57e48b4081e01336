"""Models of pgmpy: made of the tables of a Bayesian network, and read by category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.columns import checked_categories
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, one_line


def pgmpy_model(domain: Domain, parents: Mapping[str, tuple[str, ...]], tables: Mapping[str, FloatArray]) -> Any:
    """Return pgmpy's DiscreteBayesianNetwork, whose states are the categories themselves.

    Parameters
    ----------
    domain, parents, tables
        As in `BayesianNetwork`.
    """
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork()
    model.add_nodes_from(domain.names)
    model.add_edges_from((parent, name) for name, own in parents.items() for parent in own)
    for name, table in tables.items():
        own = parents[name]
        states = {one: list(domain.categories[one]) for one in (name, *own)}
        model.add_cpds(TabularCPD(name, len(table), table.reshape(len(table), -1), list(own), table.shape[1:], states))
    return model


def parts_of_model(model: Any) -> tuple[Domain, dict[str, tuple[str, ...]], dict[str, FloatArray]]:
    """Return the domain, the parents and the tables of a model, with the categories in the order of each own table.

    Parameters
    ----------
    model : pgmpy DiscreteBayesianNetwork
    """
    factors = _factors(model)
    domain = Domain({name: one.state_names[name] for name, one in factors.items()})
    parents = {name: tuple(one.variables[1:]) for name, one in factors.items()}
    if {(parent, name) for name, own in parents.items() for parent in own} != {*model.edges()}:
        raise LdpstatsError(
            "a pgmpy model whose tables have other parents than its graph", "one that passes its check_model()"
        )
    return domain, parents, {name: _as_in_domain(one, domain) for name, one in factors.items()}


def _factors(model: Any) -> dict[str, Any]:
    """Return pgmpy's table of every attribute."""
    found = {name: model.get_cpds(name) for name in model.nodes()} if hasattr(model, "get_cpds") else {}
    lacking = [name for name, one in found.items() if not hasattr(one, "state_names")]
    if not found or lacking:
        raise LdpstatsError(
            f"a pgmpy model without tables of {one_line(lacking)}" if lacking else f"a {type(model).__name__}",
            "a pgmpy DiscreteBayesianNetwork with a table for every attribute",
        )
    return found


def _as_in_domain(factor: Any, domain: Domain) -> FloatArray:
    """Return a table of pgmpy with its categories in the order of the domain, which is not always theirs."""
    table: FloatArray = np.asarray(factor.values, dtype=float)
    for axis, name in enumerate(factor.variables):
        states, known = checked_categories(name, factor.state_names[name]), domain.categories[name]
        if {*states} != {*known}:
            raise LdpstatsError(
                f"the states {one_line(states)} of {name!r} in the table of {factor.variable!r}", one_line(known)
            )
        table = table.take([states.index(one) for one in known], axis=axis)
    return table
