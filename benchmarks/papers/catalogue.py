"""All exhibits by name, paper by paper: a module of a paper that is to be measured has a line here."""

from __future__ import annotations

from importlib import import_module

from papers.exhibits import Exhibit

PAPERS: dict[str, str] = {
    "le_zia": "Le, B. D. & Zia, T. (2020). Discrete Distribution Estimation with Local Differential Privacy: "
    "A Comparative Analysis.",
    "arcolezi": "Arcolezi, H. H., Cerna, S. & Palamidessi, C. (2023). On the Utility Gain of Iterative Bayesian Update "
    "for Locally Differentially Private Mechanisms. DBSec 2023.",
    "imran_meo": "Imran, F. & Meo, R. (2024). Collection and Analysis of Sensitive Data with Privacy Protection by a "
    "Distributed Randomized Response Protocol. SAC '24.",
    "kairouz": "Kairouz, P., Bonawitz, K. & Ramage, D. (2016). Discrete Distribution Estimation under Local Privacy. "
    "ICML.",
    "survey": "Wang, T., Zhang, X., Feng, J. & Yang, X. (2020). A Comprehensive Survey on Local Differential Privacy "
    "toward Data Statistics and Analysis. Sensors 20(24).",
}
"""The module of every paper, and how the paper is cited."""

EXHIBITS: dict[str, Exhibit] = {
    exhibit.name: exhibit for module in PAPERS for exhibit in import_module(f"papers.{module}").EXHIBITS
}
