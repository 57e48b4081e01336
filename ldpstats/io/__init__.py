"""Files of reports: written, read piece by piece, checked, and counted."""

from ldpstats.io.counted_files import tables_of
from ldpstats.io.headers import ReportFile
from ldpstats.io.sources import describe_reports
from ldpstats.io.writing import write_messages, write_reports

__all__ = ["ReportFile", "describe_reports", "tables_of", "write_messages", "write_reports"]
