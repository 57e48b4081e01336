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
    """

    def __init__(self, came: str, allowed: str, advice: str = "") -> None:
        self.came, self.allowed, self.advice = came, allowed, advice
        message = f"{came}. Allowed: {allowed}."
        super().__init__(f"{message} {advice}" if advice else message)

    def __reduce__(self) -> tuple[object, ...]:
        # Exception would unpickle with the message alone, and so break in the parent of a worker process.
        return type(self), (self.came, self.allowed, self.advice)


class DomainError(LdpstatsError):
    """A value, column or category that the domain does not know."""


class ReportError(LdpstatsError):
    """A report that the mechanism, protocol or domain at hand cannot have produced."""


class NotIdentifiedError(LdpstatsError):
    """A quantity that the collected reports carry no information about."""


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
