"""Colours of Okabe & Ito (2008), which people with any kind of colour vision tell apart, on light and dark paper."""

BLUE = "#0072b2"
VERMILLION = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
SKY = "#56b4e9"
ORANGE = "#e69f00"
SERIES = (BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE)
"""For what stands beside each other, in this order."""

UNDECIDED = "#8c8c8c"
"""For what reports do not decide."""

INK = "#1b1b1c"
"""For words, axes and rules; a page that is dark at night gives them its own colour."""

PAPER = "#fefefd"
"""For gaps between areas; the page's own background in a report."""

DIVERGING, SEQUENTIAL = "PuOr_r", "Blues"
"""matplotlib's maps: from below to above what is expected, and from nothing to much."""
