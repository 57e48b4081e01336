"""Tables of two by a few cells, with few reports in some of them."""

from __future__ import annotations

import math

import numpy as np

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.noise import NoiseModel, Tally
from ldpstats.tables import Table

PROMISED = ldp.PrivacyStatement(math.inf, "a test")
CELLS = np.array([0.4, 0.1, 0.2, 0.3])


def block_of(noise: NoiseModel, counts: list[int], n: int | None = None) -> Block:
    question = Question(("row", "column"), (2, len(counts) // 2), tuple(range(len(counts))))
    return Block(question, Tally(noise, counts, sum(counts) if n is None else n, simulated=True))


def table_of(*blocks: Block) -> Table:
    columns = blocks[0].question.shape[1]
    domain = ldp.Domain({"row": ["r0", "r1"], "column": [f"c{i}" for i in range(columns)]})
    return Table(domain, blocks, PROMISED)
