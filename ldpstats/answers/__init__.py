"""Answers as people have them: files with a row per respondent, however untidy, become categories of a domain."""

from ldpstats.answers.answer_file import MISSING, read_answers
from ldpstats.answers.coding import coded_answers
from ldpstats.answers.frames_of_files import categorical_answers
from ldpstats.answers.preparation import MISSING_CATEGORY, prepared

__all__ = ["MISSING", "MISSING_CATEGORY", "categorical_answers", "coded_answers", "prepared", "read_answers"]
