"""What `import ldpstats as ldp` offers. Types that extensions are made of stand in `ldpstats.extend`."""

from . import designs as designs, plots as plots
from .answers.domain import Domain as Domain
from .answers.ordered import ordered as ordered
from .attacks.auditing import Audit as Audit, audit as audit
from .attacks.poisoning import Poisoning as Poisoning, poisoning as poisoning, poisoning_table as poisoning_table
from .consistency import (
    ConsistencyReport as ConsistencyReport,
    consistency_report as consistency_report,
    make_consistent as make_consistent,
    reconstruct as reconstruct,
)
from .errors import (
    DomainError as DomainError,
    LdpstatsError as LdpstatsError,
    NotIdentifiedError as NotIdentifiedError,
    ReportError as ReportError,
)
from .inference import (
    Association as Association,
    BestChannel as BestChannel,
    CollectorComparison as CollectorComparison,
    Effect as Effect,
    Hypothesis as Hypothesis,
    HypothesisResult as HypothesisResult,
    IndependenceTests as IndependenceTests,
    LogLinearFit as LogLinearFit,
    MonteCarlo as MonteCarlo,
    Plan as Plan,
    PowerCurve as PowerCurve,
    PublishedResult as PublishedResult,
    SampleSizeCurve as SampleSizeCurve,
    association as association,
    best_channel as best_channel,
    compare_collectors as compare_collectors,
    conditional_independence_test as conditional_independence_test,
    goodness_of_fit_test as goodness_of_fit_test,
    homogeneity_test as homogeneity_test,
    independence_test as independence_test,
    independence_tests as independence_tests,
    joint_independence_test as joint_independence_test,
    log_linear_model as log_linear_model,
    marginal_homogeneity_test as marginal_homogeneity_test,
    merge as merge,
    mutual_information as mutual_information,
    naive_test as naive_test,
    no_three_way_interaction_test as no_three_way_interaction_test,
    odds_ratio as odds_ratio,
    plan as plan,
    power as power,
    power_curve as power_curve,
    proportion_difference as proportion_difference,
    published as published,
    risk_difference as risk_difference,
    risk_ratio as risk_ratio,
    sample_size as sample_size,
    sample_size_curve as sample_size_curve,
    symmetry_test as symmetry_test,
    trend_test as trend_test,
    two_step_test as two_step_test,
)
from .io import (
    ReportFile as ReportFile,
    describe_reports as describe_reports,
    tables_of as tables_of,
    write_messages as write_messages,
    write_reports as write_reports,
)
from .mechanisms import (
    BLH as BLH,
    GRR as GRR,
    HR as HR,
    OLH as OLH,
    OUE as OUE,
    RAPPOR as RAPPOR,
    RR as RR,
    SHE as SHE,
    SS as SS,
    SUE as SUE,
    THE as THE,
    Channel as Channel,
    ChannelPrivacy as ChannelPrivacy,
    DBitFlip as DBitFlip,
    Memo as Memo,
    PairPrivacy as PairPrivacy,
    mechanism as mechanism,
    mechanisms as mechanisms,
    recommend as recommend,
)
from .networks import (
    BayesianNetwork as BayesianNetwork,
    Classifier as Classifier,
    ExpectedAccuracy as ExpectedAccuracy,
    FittedParameters as FittedParameters,
    LearnedNetwork as LearnedNetwork,
    NetworkComparison as NetworkComparison,
    QueryResult as QueryResult,
    compare_networks as compare_networks,
    fit_parameters as fit_parameters,
    learn_network as learn_network,
    naive_bayes as naive_bayes,
    tree_augmented as tree_augmented,
    triples_to_ask as triples_to_ask,
)
from .privacy import PrivacyStatement as PrivacyStatement
from .protocols import (
    RRBA as RRBA,
    CentralGaussian as CentralGaussian,
    CentralLaplace as CentralLaplace,
    HadamardCoefficients as HadamardCoefficients,
    PerAttribute as PerAttribute,
    PersonalLevels as PersonalLevels,
    ProductDomain as ProductDomain,
    Protocol as Protocol,
    SampledGroups as SampledGroups,
    WholeView as WholeView,
    rrba as rrba,
)
from .saving.files import load as load
from .tables import (
    Conditional as Conditional,
    Crosstab as Crosstab,
    Functional as Functional,
    Quantile as Quantile,
    Table as Table,
    TableSet as TableSet,
)
from .views import ViewsCertificate as ViewsCertificate, certify_views as certify_views, views as views
from .workers import on_cluster as on_cluster

__version__: str
