"""Real applications on real processes, with the real kubectl: applied, changed, failed over, returned, deleted."""

from pathlib import Path

import pytest

from kubeapi.meta import Manifest
from tests.applications.application import Application
from tests.kubectl import CONTROL_PLANE
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

HOME, SPARE = "member1", "member2"
APPLICATIONS = [Application(name) for name in ("cert-manager", "ingress-nginx", "redis")]
RELEASE = ("apply", "--server-side", "--field-manager=release", "--force-conflicts")
ROLLED_OUT = ("Deployment", "StatefulSet")


def directory_files(application: Application, *names: str) -> list[str]:
    return [option for name in names for option in ("-f", str(application.directory / f"{name}.yaml"))]


def apply_all(fleet: Fleet, application: Application) -> bool:
    """Applied once more where something fails: a kind that is not served yet, a webhook that no policy selects yet."""
    return bool(fleet.kubectl("apply", "--server-side", *directory_files(application, "templates", "policies")))


def workloads(application: Application) -> list[Manifest]:
    return [each for each in application.templates if each["kind"] in ROLLED_OUT]


def wait_rolled_out(fleet: Fleet, application: Application, context: str = CONTROL_PLANE) -> None:
    for each in workloads(application):
        target, namespace = f"{each['kind']}/{each['metadata']['name']}", each["metadata"]["namespace"]
        fleet.kubectl("rollout", "status", target, "-n", namespace, "--timeout=60s", context=context)


def uid(fleet: Fleet, member: str, kind: str, name: str, namespace: str) -> str:
    """Empty where it is not there."""
    look = ("get", kind, name, "-n", namespace, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
    return fleet.kubectl(*look, context=member)


def namespaces_in(fleet: Fleet, context: str) -> set[str]:
    return set(fleet.kubectl("get", "namespaces", "-o", "jsonpath={.items[*].metadata.name}", context=context).split())


def namespaces_of(application: Application) -> list[str]:
    return [each["metadata"]["name"] for each in application.templates if each["kind"] == "Namespace"]


def test_applications_live_through_an_outage(tmp_path: Path) -> None:
    webhook = ("deployment", "cert-manager-webhook", "cert-manager")
    ingress = ("deployment", "ingress-nginx-controller", "ingress-nginx")
    database = ("statefulset", "redis-master", "cache")
    with running_fleet(tmp_path / "fleet", "--member", HOME, "--member", f"{SPARE}=pull") as fleet:
        for application in APPLICATIONS:
            fleet.eventually(lambda each=application: apply_all(fleet, each), f"{application.name} is applied")
        for application in APPLICATIONS:
            fleet.eventually(lambda: bool(uid(fleet, HOME, *ingress)), "it is propagated")
            wait_rolled_out(fleet, application)
            fleet.kubectl(*RELEASE, *directory_files(application, "change"))
            wait_rolled_out(fleet, application)
        fleet.eventually(lambda: bool(uid(fleet, SPARE, "certificate", "shop", "shop")), "its webhook let it in")
        before = [uid(fleet, HOME, *each) for each in (webhook, database)]

        fleet.leeward("member", "stop", HOME)
        fleet.eventually(lambda: bool(uid(fleet, SPARE, *ingress)), "the ingress is in the spare cluster", times=2)
        wait_rolled_out(fleet, APPLICATIONS[1], SPARE)
        assert uid(fleet, SPARE, *database) == "", "its volumes stay"
        fleet.leeward("member", "start", HOME)
        fleet.eventually(lambda: not uid(fleet, HOME, *ingress), "what has moved is gone at home", times=2)
        assert [uid(fleet, HOME, *each) for each in (webhook, database)] == before
        for application in APPLICATIONS:
            wait_rolled_out(fleet, application)

        for application in APPLICATIONS:
            given = directory_files(application, "templates", "policies")
            fleet.kubectl("delete", "--ignore-not-found", "--wait=false", *given)
        left = {name for application in APPLICATIONS for name in namespaces_of(application)}
        for place in (HOME, SPARE, CONTROL_PLANE):
            fleet.eventually(lambda where=place: not left & namespaces_in(fleet, where), f"{place} has nothing of them")
