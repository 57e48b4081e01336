"""Published tests of fit and independence, as their papers have them: for comparison, not for use."""

from ldpstats.inference.published.gaboardi_rogers import gaboardi_rogers_test
from ldpstats.inference.published.imran_meo import proper_table, two_step_test
from ldpstats.inference.published.published_result import PublishedResult, naive_test

__all__ = ["PublishedResult", "gaboardi_rogers_test", "naive_test", "proper_table", "two_step_test"]
