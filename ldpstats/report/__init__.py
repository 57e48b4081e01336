"""Reports: everything that tables tell, as one HTML page to send."""

from ldpstats.report.page import report_page

__all__ = ["report_page"]
