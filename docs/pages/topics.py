"""The topics of the reference, in the words of statisticians, and the public names that belong to each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """A page of the reference.

    Parameters
    ----------
    page : str
        The name of its file.
    title, words : str
        What it is about.
    names : tuple of str
        In the order in which they are shown.
    """

    page: str
    title: str
    words: str
    names: tuple[str, ...]


TOPICS = (
    Topic(
        "questionnaires",
        "Questionnaires and saved files",
        "Which attributes there are, with which categories; and any saved object read from its file.",
        ("Domain", "ordered", "load"),
    ),
    Topic(
        "protocols",
        "Protocols: who is asked what",
        "A protocol says which attributes each respondent is asked about, how her answer is randomized, and what that "
        "costs her. Those with a curator (`CentralLaplace`, `CentralGaussian`) are here for comparison.",
        (
            "Protocol",
            "SampledGroups",
            "WholeView",
            "ProductDomain",
            "PerAttribute",
            "HadamardCoefficients",
            "PersonalLevels",
            "RRBA",
            "CentralLaplace",
            "CentralGaussian",
        ),
    ),
    Topic(
        "rrba",
        "Randomized response block aggregation, step by step",
        "What the protocol `RRBA` consists of, one query and one answer at a time, and when its paper stops.",
        (
            "rrba.Aggregator",
            "rrba.Client",
            "rrba.Query",
            "rrba.Answer",
            "rrba.advised_block_size",
            "rrba.Convergence",
            "rrba.convergence",
        ),
    ),
    Topic(
        "views",
        "Views: which attributes are asked together",
        "Few sets of disjoint groups in which every group, or every pair of attributes, stands.",
        ("views", "certify_views", "ViewsCertificate"),
    ),
    Topic(
        "choosing-mechanisms",
        "Choosing a mechanism",
        "All mechanisms by name, and which is best for a question. Each has its own section in the "
        ":doc:`catalogue <mechanisms>`, and all have the methods of `Mechanism`.",
        ("mechanism", "mechanisms", "recommend", "extend.Mechanism", "extend.Reports", "Memo"),
    ),
    Topic(
        "channels",
        "Channels, and designs without a device",
        "Any randomizer by its rows, those that protect sensitive values alone, and the designs of surveys on paper, "
        "whose answers are counted and estimated in one call: :doc:`answers on paper </how-to/answers-on-paper>`.",
        (
            "Channel",
            "URR",
            "URAP",
            "designs.warner",
            "designs.forced_response",
            "designs.unrelated_question",
            "designs.two_halves",
            "designs.mangat",
            "designs.kuk",
            "designs.disguised_response",
            "designs.crosswise",
            "designs.triangular",
        ),
    ),
    Topic(
        "estimates",
        "Estimated frequencies of one attribute",
        "What a mechanism makes of its reports: frequencies with their exact variances, covariances and intervals.",
        ("extend.Tally", "extend.Estimate", "extend.METHODS"),
    ),
    Topic(
        "tables",
        "Contingency tables",
        "Proportions with their covariance, intervals, conditional proportions, cross tabulations and bounds; means, "
        "quantiles, shares, differences and ratios, with what privacy cost.",
        ("Table", "TableSet", "Crosstab", "Conditional", "Functional", "Quantile", "extend.TABLE_METHODS"),
    ),
    Topic(
        "independence",
        "Tests of independence",
        "χ² tests that know how the answers were randomized: of a pair, of all pairs, within strata, of several.",
        (
            "independence_test",
            "independence_tests",
            "IndependenceTests",
            "conditional_independence_test",
            "joint_independence_test",
            "no_three_way_interaction_test",
            "trend_test",
        ),
    ),
    Topic(
        "hypotheses",
        "Other hypotheses and log-linear models",
        "Given frequencies, several groups of respondents, square tables, and hierarchical log-linear models.",
        (
            "goodness_of_fit_test",
            "homogeneity_test",
            "marginal_homogeneity_test",
            "symmetry_test",
            "log_linear_model",
            "LogLinearFit",
        ),
    ),
    Topic(
        "test-results",
        "What a test returns, and Monte Carlo p-values",
        "A hypothesis in words, the outcome of its test, and how p-values are simulated.",
        ("HypothesisResult", "Hypothesis", "MonteCarlo"),
    ),
    Topic(
        "effects",
        "Effect sizes and their intervals",
        "How strongly attributes are associated, without the inflation by noise.",
        (
            "association",
            "Association",
            "odds_ratio",
            "risk_ratio",
            "risk_difference",
            "proportion_difference",
            "mutual_information",
            "Effect",
        ),
    ),
    Topic(
        "planning",
        "Sample size and power",
        "How many respondents, at which level, find an effect of which size, and with which mechanism.",
        (
            "plan",
            "Plan",
            "sample_size",
            "sample_size_curve",
            "SampleSizeCurve",
            "power",
            "power_curve",
            "PowerCurve",
            "best_channel",
            "BestChannel",
        ),
    ),
    Topic(
        "consistency",
        "Tables that agree, and tables that nobody collected",
        "Overlapping tables made to agree, and larger tables put together under an assumption that is named.",
        ("make_consistent", "consistency_report", "ConsistencyReport", "reconstruct", "extend.RECONSTRUCTION_METHODS"),
    ),
    Topic(
        "networks",
        "Bayesian networks",
        "Edges, directions and parameters from tables alone; queries, records and files.",
        (
            "learn_network",
            "LearnedNetwork",
            "fit_parameters",
            "FittedParameters",
            "BayesianNetwork",
            "QueryResult",
            "compare_networks",
            "NetworkComparison",
            "triples_to_ask",
        ),
    ),
    Topic(
        "classifiers",
        "Classifiers",
        "Fitted to reports, never to records.",
        ("naive_bayes", "tree_augmented", "Classifier", "ExpectedAccuracy"),
    ),
    Topic(
        "privacy",
        "Privacy levels and audits",
        "Statements of ε with their unit, also value by value, and the comparison of what a mechanism claims with "
        "what it does.",
        ("PrivacyStatement", "ChannelPrivacy", "PairPrivacy", "audit", "Audit"),
    ),
    Topic(
        "forged-reports",
        "Forged reports and differing collectors",
        "What forged reports can do at worst, and whether one of several collectors differs from the others.",
        ("poisoning", "poisoning_table", "Poisoning", "compare_collectors", "CollectorComparison"),
    ),
    Topic(
        "report-files",
        "Report files, merging and clusters",
        "What respondents sent, written, described, counted and added up, also on a Dask cluster.",
        ("write_reports", "write_messages", "describe_reports", "ReportFile", "tables_of", "merge", "on_cluster"),
    ),
    Topic(
        "plots",
        "Plots of several objects",
        "Every result draws itself by its method `plot`; these functions draw several of them together.",
        ("plots.forest", "plots.raw_against_private", "plots.raw_against_private_picture", "plots.compared_cells"),
    ),
    Topic(
        "published-tests",
        "Published tests, for comparison",
        "Tests of fit and independence as their papers have them. Some do not keep their level, or lose power: they "
        "are here to be compared with, not to be used.",
        (
            "two_step_test",
            "naive_test",
            "published.gaboardi_rogers_test",
            "PublishedResult",
            "published.proper_table",
        ),
    ),
    Topic(
        "datasets",
        "Data to try things with",
        "Bayesian networks whose truth is known, and real answers to a sensitive question.",
        (
            "datasets.affairs",
            "datasets.dayton",
            "datasets.network",
            "datasets.NETWORKS",
            "datasets.Network",
            "datasets.true_cramers_v",
        ),
    ),
    Topic(
        "errors",
        "Errors",
        "Each says what came, what is allowed and what to do.",
        ("LdpstatsError", "DomainError", "ReportError", "NotIdentifiedError"),
    ),
    Topic(
        "extending",
        "Extending the package",
        "What mechanisms, protocols, hypotheses and estimators of your own are made of. "
        "The :doc:`recipes </how-to/extend>` say how.",
        (
            "extend.register_mechanism",
            "extend.certify",
            "extend.ReportFormat",
            "extend.Draws",
            "extend.exp_below",
            "extend.numerator_at_least",
            "extend.numerator_at_most",
            "extend.GRID",
            "extend.NoiseModel",
            "extend.MultinomialNoise",
            "extend.SupportNoise",
            "extend.DenseChannel",
            "extend.TruthOrFake",
            "extend.register_protocol",
            "extend.certify_protocol",
            "extend.LocalProtocol",
            "extend.AssignedQuestions",
            "extend.Asked",
            "extend.Question",
            "extend.Block",
            "extend.null_model_test",
            "extend.NullModel",
            "extend.ProductOfConditionals",
            "extend.LogLinear",
            "extend.LinearSubspace",
            "extend.TableMethod",
            "extend.ReconstructionMethod",
            "extend.from_marginals",
            "extend.register",
            "extend.Saveable",
            "extend.summary_of_facts",
            "extend.summary_of_figures",
            "extend.axes_to_draw_on",
        ),
    ),
)
