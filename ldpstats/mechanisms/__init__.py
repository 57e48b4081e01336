"""Mechanisms: one file per way of encoding, all certified by the conformance suite."""

from ldpstats.mechanisms.base import GRID_LEVEL, Mechanism, ReportFormat, Reports, joint_ratio
from ldpstats.mechanisms.channel import Channel
from ldpstats.mechanisms.channel_privacy import ChannelPrivacy, PairPrivacy
from ldpstats.mechanisms.cohorts import ORAPPOR, ORR, RAPPOR
from ldpstats.mechanisms.dbitflip import DBitFlip, DBitFlipPM
from ldpstats.mechanisms.grr import GRR, RR, FakeResponse, fake_numerators, least_fake
from ldpstats.mechanisms.hadamard_response import HR, HRR
from ldpstats.mechanisms.histogram import SHE
from ldpstats.mechanisms.local_hashing import BLH, LH, OLH
from ldpstats.mechanisms.longitudinal import Longitudinal
from ldpstats.mechanisms.longitudinal_rappor import LRAPPOR
from ldpstats.mechanisms.longitudinal_rounds import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE, LUE
from ldpstats.mechanisms.memo import Memo
from ldpstats.mechanisms.open_alphabet import OpenRAPPOR, OpenRR
from ldpstats.mechanisms.registry import (
    REGISTRY,
    best_name,
    checked_mechanism,
    mechanism,
    mechanisms,
    plain_mechanism,
    read_mechanism,
    recommend,
    register_mechanism,
    registered_mechanisms,
)
from ldpstats.mechanisms.sketch import CMS, HCMS, SHist
from ldpstats.mechanisms.ss import SS
from ldpstats.mechanisms.unary import OUE, SUE, THE, UE, OneHotCMS
from ldpstats.mechanisms.unequal import URAP, URR

__all__ = [
    "BLH",
    "CMS",
    "GRID_LEVEL",
    "GRR",
    "HCMS",
    "HR",
    "HRR",
    "LBLH",
    "LGRR",
    "LH",
    "LOLH",
    "LOSUE",
    "LOUE",
    "LRAPPOR",
    "LSOUE",
    "LSUE",
    "LUE",
    "OLH",
    "ORAPPOR",
    "ORR",
    "OUE",
    "RAPPOR",
    "REGISTRY",
    "RR",
    "SHE",
    "SS",
    "SUE",
    "THE",
    "UE",
    "URAP",
    "URR",
    "Channel",
    "ChannelPrivacy",
    "DBitFlip",
    "DBitFlipPM",
    "FakeResponse",
    "Longitudinal",
    "Mechanism",
    "Memo",
    "OneHotCMS",
    "OpenRAPPOR",
    "OpenRR",
    "PairPrivacy",
    "ReportFormat",
    "Reports",
    "SHist",
    "best_name",
    "checked_mechanism",
    "fake_numerators",
    "joint_ratio",
    "least_fake",
    "mechanism",
    "mechanisms",
    "plain_mechanism",
    "read_mechanism",
    "recommend",
    "register_mechanism",
    "registered_mechanisms",
]
