"""Partial identification: what reports say about a table without an assumption, and how surely."""

from ldpstats.identification.bounds import AssociationBounds, Bounds, bounds_of

__all__ = ["AssociationBounds", "Bounds", "bounds_of"]
