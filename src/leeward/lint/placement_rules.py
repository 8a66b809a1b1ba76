"""Rules about placements that leave a failover nowhere to go."""

from collections.abc import Iterator
from difflib import get_close_matches

from leeward.api.policy import Placement
from leeward.core.scheduling.selection import divides
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import LintPolicy
from leeward.lint.picture import LintPicture
from leeward.lint.placements import (
    affinity_field,
    allowed_clusters,
    can_be_spread,
    clusters_to_judge,
    most_copies,
    not_joined,
)
from leeward.lint.selected_kinds import selects_only_shared_kinds, selects_replicas
from leeward.operations.sentences import counted

NAMED = 3
"""Clusters that one sentence names."""


def one_cluster_only(picture: LintPicture) -> Iterator[Diagnostic]:
    for policy in picture.policies:
        placement = policy.policy.spec.placement
        clusters = clusters_to_judge(placement, picture.fleet)
        if clusters is None or selects_only_shared_kinds(policy.policy):
            continue
        allowed = allowed_clusters(placement, clusters)
        if len(allowed) == 1:
            [only] = allowed
            known = "cluster" if picture.fleet is None else "joined cluster"
            said = f"{policy} allows only one {known}, {only}: if {only} is lost, the policy's applications cannot move"
            yield Diagnostic(policy.source, f"{said}{_missing(placement, picture)}", affinity_field(placement))
        elif not allowed and picture.fleet:
            said = f"{policy} names no cluster that has joined: nothing that it selects is placed"
            yield Diagnostic(policy.source, f"{said}{_missing(placement, picture)}", affinity_field(placement))


def _missing(placement: Placement, picture: LintPicture) -> str:
    """`; the policy also names membr1, which has not joined (is member1 meant?)`: names that may be misspelt."""
    fleet = picture.fleet or {}
    missing = not_joined(placement, fleet)[:NAMED] if picture.fleet is not None else ()
    close = {name: "".join(f" (is {near} meant?)" for near in get_close_matches(name, fleet, 1)) for name in missing}
    return "".join(f"; the policy also names {name}, which has not joined{hint}" for name, hint in close.items())


def hard_spread(picture: LintPicture) -> Iterator[Diagnostic]:
    for policy in picture.policies:
        placement = policy.policy.spec.placement
        clusters = clusters_to_judge(placement, picture.fleet)
        if clusters is None or not placement.spread_constraints:
            continue
        allowed = allowed_clusters(placement, clusters)
        path = ("spec", "placement", "spreadConstraints")
        if len(allowed) > 1 and not can_be_spread(placement, allowed, clusters):
            if picture.fleet is not None:
                said = f"{policy} asks for more than {counted(len(allowed), 'cluster')} can give it: nothing is placed"
                yield Diagnostic(policy.source, said, path)
            continue
        breaking = sorted(name for name in allowed if not can_be_spread(placement, allowed - {name}, clusters))
        if breaking and len(allowed) > 1 and _is_missed(policy, len(allowed) - 1):
            yield Diagnostic(policy.source, _broken(policy, breaking, len(allowed)), path)


def _is_missed(policy: LintPolicy, others: int) -> bool:
    """Tells whether a copy that is lost would be placed elsewhere, if it were allowed to."""
    placement = policy.policy.spec.placement
    if selects_replicas(policy.policy) and divides(placement.replica_scheduling):
        return True
    return 0 < most_copies(placement) <= others


def _broken(policy: LintPolicy, breaking: list[str], number: int) -> str:
    constraints = policy.policy.spec.placement.spread_constraints
    minima = " and ".join(
        counted(each.min_groups, each.spread_by_field)
        if each.spread_by_field
        else counted(each.min_groups, f"value of {each.spread_by_label}", f"values of {each.spread_by_label}")
        for each in constraints
        if each.min_groups
    )
    if len(breaking) == number:
        which = "any cluster"
    else:
        rest = f" or {len(breaking) - NAMED} more" if len(breaking) > NAMED else ""
        which = f"{', '.join(breaking[:NAMED])}{rest}"
    return (
        f"{policy} asks for at least {minima}: if {which} is lost, the other clusters are too few, and the copy "
        "cannot move"
    )
