"""`leeward up` on a store that has the largest object of each kind: it comes up, and lets each of them be deleted."""

import json
from pathlib import Path
from typing import Any

import pytest

from leeward.api.schema import CUSTOM_KINDS
from tests.kubectl import CommandFailed
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet
from tests.security.largest_objects import namespace_of, with_field
from tests.security.test_stored_before import largest
from tests.world.stories import deployment, policy

pytestmark = [pytest.mark.processes, needs_kubectl]

SMALLEST = 50


def test_l4_a_real_control_plane_comes_up_with_the_largest_object_of_each_kind(tmp_path: Path) -> None:
    with running_fleet(tmp_path, "--member", "member1") as fleet:
        placed = {"clusterAffinity": {"clusterNames": ["member1"]}}
        for made in (deployment("web", 1), policy("web", placed)):
            fleet.kubectl("apply", "-n", "default", "-f", "-", stdin=json.dumps(made))
        fleet.eventually(lambda: serves(fleet), "web runs")
        stored = [store(fleet, each.resource) for each in CUSTOM_KINDS]
        fleet.leeward("down")
        fleet.leeward("up", "--detach", "--no-dashboard")
        for resource, namespace in stored:
            fleet.kubectl("delete", resource, "large", *namespace, "--timeout=60s")
        fleet.eventually(lambda: serves(fleet), "web runs on")
        fleet.kubectl("scale", "deployment", "web", "--replicas=2")
        fleet.eventually(lambda: serves(fleet, 2), "controllers work")


def store(fleet: Fleet, kind: Any) -> tuple[str, list[str]]:
    """Stores the largest object of the kind that admission takes; gives where it is."""
    path, size = largest(kind)
    namespace = ["-n", namespace_of(kind)] if kind.namespaced else []
    while size > SMALLEST:
        try:
            fleet.kubectl("create", *namespace, "-f", "-", stdin=json.dumps(with_field(kind, path, size)))
        except CommandFailed:
            size //= 2
        else:
            return f"{kind.plural}.{kind.group}", namespace
    raise AssertionError(f"{kind.kind}: no object with a large {path} is taken")


def serves(fleet: Fleet, replicas: int = 1) -> bool:
    return fleet.get("deployment", "web", context="member1").get("status", {}).get("readyReplicas", 0) == replicas
