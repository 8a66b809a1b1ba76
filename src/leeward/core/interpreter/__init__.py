"""Interpretation of kinds: replicas, status, health, what it depends on, and what of it belongs to the member.

One module per family of kinds; `kinds.py` lists which functions a kind has. A kind that is not listed is copied as it
is: no replicas, its whole status, always healthy.

Karmada: pkg/resourceinterpreter/default/native; same, proven by the recorded cases in `tests/data/oracle`. Differences
are marked where they are.
"""

from leeward.core.interpreter.interpret import (
    ReplicaInterpretation,
    aggregate_status,
    components_of,
    dependencies_of,
    has_dependencies,
    health_of,
    is_defined,
    lacks_health_rule,
    prune,
    reflect_status,
    replica_interpretation,
    replicas_of,
    retain,
    revise_replicas,
    why_not_judged,
)
from leeward.core.interpreter.resource_health import ResourceHealth
from leeward.core.interpreter.rules import InterpretationError, Rules, Status

__all__ = [
    "InterpretationError",
    "ReplicaInterpretation",
    "ResourceHealth",
    "Rules",
    "Status",
    "aggregate_status",
    "components_of",
    "dependencies_of",
    "has_dependencies",
    "health_of",
    "is_defined",
    "lacks_health_rule",
    "prune",
    "reflect_status",
    "replica_interpretation",
    "replicas_of",
    "retain",
    "revise_replicas",
    "why_not_judged",
]
