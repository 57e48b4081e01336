"""Printed figures of the papers that this package implements, beside the same figures measured here."""
