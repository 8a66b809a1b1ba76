"""One checker for each invariant that can be seen in a single write. They judge by the truth, and share no decision
with what they judge. What they do share are the types and names of `api`, the names of controllers, words that objects
bear (which reason says that a status was not collected, which reasons an outage is told with), the Work's binding by
its labels (`runtime.binding_kinds`), and the arithmetic of shards (`runtime.sharding`).

    copies      S1, C2   what leaves, and why it may
    disruptions S1       what shrinks, by the law
    jobs        S1       Jobs, which run to their end once
    evictions   S4, S11  what starts to leave
    placements  S2, S3   where a binding is put
    works       S5, L1   which Works there are
    renderings  S14      what Works and copies are in each cluster
    dependencies S15     what is there before a copy, and leaves after it
    unneeded_changes S12 what stays as it is
    watched     S13      what nobody has seen
    authority   S9       who must not place
    members     S5, S6, S9   what happens to objects in members
    scripts     S16      what is made of scripts that give no answer
    claims      S17      which policy a template belongs to
    quotas      S18, S1  what is used of a quota
    outage_objects S19   what is told of an outage
    rollouts    S20      which cluster gets a change, and when
    groups      S21      who is left alone
    requests    S5, S9   what is asked of the API servers
    leaders     S8       who writes without being the leader any more
    owners      S9       who writes what
    byzantine   S10      what a member says of itself
    rates       C4       how fast is evicted, where that is limited
    isolation   L4       members that nothing is wrong with
    failovers   L2       what stays in a cluster that is lost
    replacements L2      what is waited for, where others would take it
    restores    S1, S5   what a control plane does that is restored
    removals    S4       what was to go before the brake engaged
    readiness   C1       how fast a cluster's word changes
    stores      D3, D8   revisions, finalizers, uids
    answers     D1, D2, D4   what the API server answers
    watches     D5       what it tells those who watch
    compaction  D6, D9   what its store forgets, and how much it keeps

What has to hold in the end is in `histories/convergence.py` (L1, L3, L5) and `histories/handling.py` (D10). D7 is no
matter of histories, whose medium is memory: tests/kubeserver damages files.
"""

from simulator.histories.checkers.audit import ServerAudit
from simulator.histories.checkers.authority import AuthorityChecker
from simulator.histories.checkers.byzantine import ByzantineChecker
from simulator.histories.checkers.claims import ClaimsChecker
from simulator.histories.checkers.compaction import CompactionChecker
from simulator.histories.checkers.copies import CopiesChecker
from simulator.histories.checkers.dependencies import DependenciesChecker
from simulator.histories.checkers.disruptions import DisruptionsChecker
from simulator.histories.checkers.evictions import EvictionsChecker
from simulator.histories.checkers.failovers import FailoversChecker
from simulator.histories.checkers.groups import GroupsChecker
from simulator.histories.checkers.isolation import IsolationChecker
from simulator.histories.checkers.jobs import JobsChecker
from simulator.histories.checkers.leaders import LeadersChecker
from simulator.histories.checkers.members import MembersChecker
from simulator.histories.checkers.outage_objects import OutagesChecker
from simulator.histories.checkers.owners import OwnersChecker
from simulator.histories.checkers.placements import PlacementsChecker
from simulator.histories.checkers.quotas import QuotasChecker
from simulator.histories.checkers.rates import RatesChecker
from simulator.histories.checkers.readiness import ReadinessChecker
from simulator.histories.checkers.removals import RemovalsChecker
from simulator.histories.checkers.renderings import RenderingsChecker
from simulator.histories.checkers.replacements import ReplacementsChecker
from simulator.histories.checkers.requests import RequestsChecker
from simulator.histories.checkers.restores import RestoresChecker
from simulator.histories.checkers.rollouts import RolloutsChecker
from simulator.histories.checkers.scene import Scene, Violation, scene_of
from simulator.histories.checkers.scripts import ScriptsChecker
from simulator.histories.checkers.stores import StoresChecker
from simulator.histories.checkers.unneeded_changes import UnneededChangesChecker
from simulator.histories.checkers.watched import WatchedChecker
from simulator.histories.checkers.works import WorksChecker

__all__ = [
    "CHECKERS",
    "TIMED",
    "CompactionChecker",
    "CopiesChecker",
    "LeadersChecker",
    "RequestsChecker",
    "RestoresChecker",
    "Scene",
    "ServerAudit",
    "StoresChecker",
    "Violation",
    "scene_of",
]

TIMED = (FailoversChecker, ReplacementsChecker, WorksChecker, OutagesChecker, GroupsChecker)
"""Checkers that know of something that is to happen in time: they are asked for what is `overdue`, too."""
CHECKERS = (
    DisruptionsChecker,
    JobsChecker,
    EvictionsChecker,
    PlacementsChecker,
    RenderingsChecker,
    RolloutsChecker,
    DependenciesChecker,
    ScriptsChecker,
    UnneededChangesChecker,
    WatchedChecker,
    AuthorityChecker,
    MembersChecker,
    ReadinessChecker,
    OwnersChecker,
    ByzantineChecker,
    RatesChecker,
    IsolationChecker,
    RemovalsChecker,
    ClaimsChecker,
    QuotasChecker,
)
"""`CopiesChecker`, `StoresChecker` and `RestoresChecker`, which outlast a restored control plane, are beside these."""
