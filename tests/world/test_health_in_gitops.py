"""Health checks for Argo CD (Lua) and Flux (CEL) under deploy/gitops, asked of bindings of real controllers."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa.lua51 import LuaRuntime

from kubeapi.meta import Manifest
from kubeserver.cel.library import compile_cel
from leeward.core.eviction.held_reasons import HOLDS, Hold
from leeward.pytest_plugin import FleetStarter
from leeward.sim.virtual_fleet import VirtualFleet
from tests.world.stories import by_weight, deployment, policy

GITOPS = Path(__file__).parents[2] / "deploy" / "gitops"
ARGO: dict[str, str] = yaml.safe_load((GITOPS / "argocd-cm.yaml").read_text())["data"]
FLUX: dict[str, Any] = yaml.safe_load((GITOPS / "flux-health-checks.yaml").read_text())["spec"]
CALM = {reason for reason, hold in HOLDS.items() if hold is not Hold.HELD}


def argo(kind: str, obj: Manifest) -> str:
    """Health that Argo CD would show: its Lua is a function body with the object as `obj`."""
    lua: Any = LuaRuntime(unpack_returned_tuples=True)
    judge = lua.eval(f"function(obj) {ARGO[f'resource.customizations.health.{kind}']} end")
    return str(judge(lua.table_from(obj, recursive=True)).status)


def flux(obj: Manifest) -> str:
    """Health that Flux would find: it asks for failure first, and waits where neither holds."""
    [exprs] = FLUX["healthCheckExprs"]
    assert (exprs["apiVersion"], exprs["kind"]) == (obj["apiVersion"], obj["kind"])
    known = {"status": obj["status"], "metadata": obj["metadata"]}
    found = [name for name in ("failed", "current") if compile_cel(exprs[name], tuple(known)).evaluate(known)]
    return next(iter(found), "inProgress")


@pytest.fixture
def web(leeward_fleet: FleetStarter) -> VirtualFleet:
    fleet = leeward_fleet("member1", "member2")
    fleet.apply(deployment("web", 2), policy("web", by_weight({"member1": 1})))
    fleet.wait("1m")
    return fleet


def binding(fleet: VirtualFleet) -> Manifest:
    return fleet.get("resourcebinding/web-deployment")


def test_a_binding_that_is_applied_is_healthy(web: VirtualFleet) -> None:
    assert argo("work.karmada.io_ResourceBinding", binding(web)) == "Healthy"
    assert flux(binding(web)) == "current"


def test_an_outage_is_progress_and_a_held_eviction_asks_for_somebody(web: VirtualFleet) -> None:
    web.fail("member1")
    web.wait("2m")
    assert argo("work.karmada.io_ResourceBinding", binding(web)) == "Progressing"
    assert flux(binding(web)) == "inProgress"
    web.wait("15m")
    assert argo("work.karmada.io_ResourceBinding", binding(web)) == "Degraded"
    assert flux(binding(web)) == "failed"
    assert argo("cluster.karmada.io_Cluster", web.get("cluster/member1")) == "Degraded"
    assert argo("cluster.karmada.io_Cluster", web.get("cluster/member2")) == "Healthy"


def test_what_cannot_be_scheduled_is_degraded(leeward_fleet: FleetStarter) -> None:
    fleet = leeward_fleet("member1")
    fleet.apply(deployment("web", 2), policy("web", by_weight({"gone": 1})))
    fleet.wait("1m")
    assert argo("work.karmada.io_ResourceBinding", binding(fleet)) == "Degraded"
    assert flux(binding(fleet)) == "failed"


@pytest.mark.parametrize("reason", sorted(map(str, HOLDS)))
def test_each_reason_of_a_hold_is_judged_as_its_meaning(web: VirtualFleet, reason: str) -> None:
    found = binding(web)
    held = {"type": "leeward.dev/EvictionHeld", "status": "True", "reason": reason, "message": ""}
    found = {**found, "status": {**found["status"], "conditions": [*found["status"]["conditions"], held]}}
    assert argo("work.karmada.io_ResourceBinding", found) == ("Healthy" if reason in CALM else "Degraded")
    assert flux(found) == ("current" if reason in CALM else "failed")


def test_one_check_is_for_both_kinds_of_bindings() -> None:
    names = ("work.karmada.io_ResourceBinding", "work.karmada.io_ClusterResourceBinding")
    assert len({ARGO[f"resource.customizations.health.{name}"] for name in names}) == 1
