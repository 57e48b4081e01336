"""Answers as people have them: files with a row per respondent, however untidy, become categories of a domain."""

from ldpstats.answers.answer_file import MISSING, AnswerFile, read_answers
from ldpstats.answers.coding import coded_answers
from ldpstats.answers.preparation import MISSING_CATEGORY, Cut, Preparation, prepared

__all__ = [
    "MISSING",
    "MISSING_CATEGORY",
    "AnswerFile",
    "Cut",
    "Preparation",
    "coded_answers",
    "prepared",
    "read_answers",
]
