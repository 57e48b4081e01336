"""Answers: the categories that may be given, what is asked of them, and the files and frames that hold them."""

from ldpstats.answers.answer_file import MISSING, read_answers
from ldpstats.answers.coding import categorical_answers, coded_answers
from ldpstats.answers.preparation import MISSING_CATEGORY, prepared

__all__ = ["MISSING", "MISSING_CATEGORY", "categorical_answers", "coded_answers", "prepared", "read_answers"]
