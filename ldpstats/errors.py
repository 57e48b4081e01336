"""The one kind of error this package raises: what came, what is allowed, what to do next."""

from __future__ import annotations


class LdpstatsError(ValueError):
    """Input that cannot be used, told in three parts so that the message is also an instruction.

    Parameters
    ----------
    came : str
        What was received, with the place (column, row, option) where it stood.
    allowed : str
        What would have been accepted there.
    advice : str
        What the caller can do next.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> try:
    ...     ldp.GRR(1, epsilon=1.0)
    ... except ldp.LdpstatsError as error:
    ...     print(error)
    k = 1. Allowed: a whole number, at least 2.
    """

    def __init__(self, came: str, allowed: str, advice: str = "") -> None:
        self.came, self.allowed, self.advice = came, allowed, advice
        message = f"{came}. Allowed: {allowed}."
        super().__init__(f"{message} {advice}" if advice else message)

    def __reduce__(self) -> tuple[object, ...]:
        # Exception would unpickle with the message alone, and so break in the parent of a worker process.
        return type(self), (self.came, self.allowed, self.advice)


class DomainError(LdpstatsError):
    """A value, column or category that the domain does not know.

    Parameters
    ----------
    came, allowed, advice : str
        As of every `LdpstatsError`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"]})
    >>> try:
    ...     domain.project(["age"])
    ... except ldp.DomainError as error:
    ...     print(error)
    attributes ('age',). Allowed: different names out of 'sex', at least one.
    """


class ReportError(LdpstatsError):
    """A report that the mechanism, protocol or domain at hand cannot have produced.

    Parameters
    ----------
    came, allowed, advice : str
        As of every `LdpstatsError`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> try:
    ...     ldp.GRR(4, epsilon=1.0).count([0, 3, 4])
    ... except ldp.ReportError as error:
    ...     print(error)
    the report 4 at position 2 (1 such reports). Allowed: reports that GRR(k=4, epsilon=1.0) can send. Check that
    client and server use the same mechanism, k and epsilon.
    """


class NotIdentifiedError(LdpstatsError):
    """A quantity that the collected reports carry no information about.

    Parameters
    ----------
    came, allowed, advice : str
        As of every `LdpstatsError`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["old", "young"]})
    >>> protocol = ldp.SampledGroups(domain, epsilon=2.0, groups=[("sex", "car"), ("car", "age")])
    >>> tables = protocol.simulate([100] * 8, rng=1)
    >>> try:
    ...     ldp.independence_test(ldp.reconstruct(tables, ["sex", "age"]))
    ... except ldp.NotIdentifiedError as error:
    ...     print(error)
    a hypothesis that the reports tell nothing about: nobody was asked about sex and age together; what the table
    shows of that follows from an assumption. Allowed: a hypothesis about what was asked together. Ask the group
    ('sex', 'age'); bounds() of the table says what is known without an assumption.
    """


def one_line(values: object, limit: int = 8) -> str:
    """Print a collection for an error message, cut after `limit` members."""
    listed = list(values) if isinstance(values, (list, tuple, set, frozenset, dict)) else [values]
    shown = ", ".join(repr(value) for value in listed[:limit]) or "nothing"
    return shown if len(listed) <= limit else f"{shown}, ... ({len(listed)} in all)"


def shortened(value: object, limit: int = 80) -> str:
    """Print a single value for an error message, cut after `limit` letters."""
    try:
        shown = repr(value)
    except ValueError:  # Python does not print whole numbers of more than some thousand digits
        return f"a {type(value).__name__} of very many digits"
    return shown if len(shown) <= limit else f"{shown[:limit]}... ({len(shown)} letters)"
