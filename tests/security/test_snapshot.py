"""A picture of a fleet, as somebody sends it to others: which texts of a control plane are in it.

has            the file that `leeward snapshot` wrote
must not get   the contents of manifests, values of override policies, texts that applications report, credentials
               of proxies, or what users note in annotations; also not by a message that quotes them
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from kubeapi.codec import encode
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest, ObjectMeta
from kubeclient import Client, Request, Response
from leeward.answers.fleet_state import encode_state
from leeward.answers.reading import read_fleet
from leeward.answers.redaction import (
    KEPT_ANNOTATIONS,
    LEFT_OUT,
    QUOTING,
    redacted_binding,
    redacted_cluster,
    redacted_outage,
)
from leeward.api.meta import Condition
from leeward.api.names import EVICTION_HELD_CONDITION, OVERRIDE_FAILED_CONDITION
from leeward.api.outage import ClusterOutage, OutageSpec, OutageStatus, OutageStep, StepKind
from leeward.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    OUTAGES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    WORKS,
)
from leeward.api.work import GracefulEvictionTask, ResourceBinding, ResourceBindingStatus
from leeward.sim.world import World
from tests.builders import NOW, binding, cluster, divided, targets
from tests.transports import Sent
from tests.world.stories import apply, deployment, play, policy
from tests.world.test_overrides import BOTH, OVERRIDES

LISTED = (
    CLUSTERS,
    PROPAGATION_POLICIES,
    CLUSTER_PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    CLUSTER_RESOURCE_BINDINGS,
    WORKS,
    OUTAGES,
)
"""Kinds that a picture is made of."""
INSTANT = "2026-01-01T00:00:00Z"
KEPT = (
    r"\w+\.(apiVersion|kind)",
    r"\w+\.metadata\.(name|generateName|namespace|uid|resourceVersion|labels|labels\.key|finalizers|ownerReferences\.\w+)",
    r"\w+\.metadata\.annotations\[.+\]",
    r"Cluster\.(spec|status)\.(?!proxy|conditions).+",
    r"(Cluster)?PropagationPolicy\.spec\..+",
    r"(Cluster)?ResourceBinding\.spec\..+",
    r"(Cluster)?ResourceBinding\.status\.(schedulerObservingAffinityName|aggregatedStatus\.(clusterName|status\.ingress\.(ip|hostname)))",
    r"\w+\.status\.conditions\.(type|status|reason)",
    r"Work\.spec\.workload\.manifests\.(apiVersion|kind|metadata\.(name|namespace))",
    r"Work\.spec\.workload\.manifests\.metadata\.annotations\[resourcetemplate\.karmada\.io/generation\]",
    r"Work\.status\.manifestStatuses\.(identifier\.\w+|status\.ingress\.(ip|hostname))",
    r"Outage\.(spec|status)\..+",
)
"""Texts that docs/answers.md says are in a picture, by kind and path."""
MARK = re.compile(r"mark\d+m")


class Marks:
    """Manifests of a kind with a mark in each text that its type has, and the paths of the marks."""

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}

    def mark(self, path: str) -> str:
        mark = f"mark{len(self.paths)}m"
        self.paths[mark] = path
        return mark

    def value(self, kind: inspect.Type, path: str) -> Any:
        match kind:
            case inspect.Metadata(type=inner):
                return self.value(inner, path)
            case inspect.UnionType(types=types):
                return self.value(next(each for each in types if not isinstance(each, inspect.NoneType)), path)
            case inspect.StructType(fields=fields):
                return {each.encode_name: self.value(each.type, f"{path}.{each.encode_name}") for each in fields}
            case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
                return [self.value(item, path)]
            case inspect.DictType() if path.endswith(".manifests"):
                return self._manifest(path)
            case inspect.DictType(key_type=inspect.StrType(), value_type=inner):
                return {self.mark(f"{path}.key"): self.value(inner, path), **self._annotations(path)}
            case inspect.StrType():
                return self.mark(path)
            case inspect.AnyType():
                return self._anything(path)
            case _:
                return _plain(kind)

    def _annotations(self, path: str) -> Mapping[str, str]:
        if not path.endswith(".annotations"):
            return {}
        return {name: self.mark(f"{path}[{name}]") for name in sorted(KEPT_ANNOTATIONS)}

    def _manifest(self, path: str) -> Manifest:
        return {
            **{name: self.mark(f"{path}.{name}") for name in ("apiVersion", "kind", "immutable")},
            "metadata": self.value(inspect.type_info(ObjectMeta), f"{path}.metadata"),
            **{name: self._anything(f"{path}.{name}") for name in ("spec", "data", "stringData", "status", "rules")},
        }

    def _anything(self, path: str) -> Any:
        """Part of a manifest, which may hold anything."""
        ingress = {name: self.mark(f"{path}.ingress.{name}") for name in ("ip", "hostname", "note")}
        names = ("type", "startTime", "phase", "replicas")
        return {
            **{name: self.mark(path) for name in names},
            "loadBalancer": {"ingress": [ingress], "note": self.mark(path)},
            "conditions": [{name: self.mark(path) for name in ("type", "status", "reason", "message")}],
            "list": [self.mark(path), {"deep": self.mark(path)}],
        }


def _plain(kind: inspect.Type) -> Any:
    match kind:
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.EnumType(cls=members):
            return next(iter(members)).value
        case inspect.DateTimeType():
            return INSTANT
        case inspect.BoolType():
            return True
        case inspect.IntType() | inspect.FloatType():
            return 1
        case _:
            raise AssertionError(f"no example of {kind}")


class Listed(Sent):
    """A control plane that answers lists of these objects, by path."""

    def __init__(self, lists: Mapping[str, Manifest]) -> None:
        super().__init__()
        self._lists = lists

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.path == "/version":
            return Response(200, b"{}")
        if request.path not in self._lists:
            return Response(404, encode({"kind": "Status", "message": "not found", "code": 404}))
        return Response(200, encode({"metadata": {}, "items": [self._lists[request.path]]}))


def test_of_all_texts_a_picture_has_those_that_its_page_names() -> None:
    marks = Marks()
    lists = {each.path(): marks.value(inspect.type_info(each.object_type), each.kind) for each in LISTED}
    state = run_virtual(read_fleet(Client(Listed(lists), "test"), SystemClock()))
    assert [each.partition(" mark")[0] for each in state.recorded.unseen] == ["templates of kind"] * 2
    found = {marks.paths[mark] for mark in MARK.findall(encode_state(state).decode())}
    named = {path for path in marks.paths.values() if any(re.fullmatch(each, path) for each in KEPT)}
    assert (sorted(found - named), sorted(named - found)) == ([], [])
    assert len(marks.paths) - len(found) > 100


HIDDEN = "hunter2"
REFUSED = f'Deployment.apps "web" is invalid: spec.template.spec.containers[0].image: Invalid value: "{HIDDEN}"'
OURS = "Evicting from cluster a, 1 replica stays"


def is_refused(binding: ResourceBinding) -> bool:
    return any(HIDDEN in item.applied_message for item in binding.status.aggregated_status)


def test_values_of_overrides_and_notes_of_users_are_in_no_picture() -> None:
    note = {"kubectl.kubernetes.io/last-applied-configuration": HIDDEN, "example.org/note": HIDDEN}
    label = {"path": "/metadata/labels/tier", "operator": "add", "value": f"{HIDDEN}!"}
    rules: list[Manifest] = [{"targetCluster": {"clusterNames": ["member2"]}, "overriders": {"plaintext": [label]}}]
    env = {"path": "/spec/template/spec/containers/0/env", "operator": "add", "value": [{"name": "A", "value": HIDDEN}]}
    rules.append({"targetCluster": {"clusterNames": ["member1"]}, "overriders": {"plaintext": [env]}})
    override = {"metadata": {"name": "web", "annotations": note}, "spec": {"overrideRules": rules}}

    async def story(world: World) -> None:
        claiming = policy("web", BOTH)
        claiming["metadata"]["annotations"] = note
        await world.client.create(OVERRIDES, override, "default")
        await apply(world.client, deployment("web", 2), claiming)
        patch = {"metadata": {"annotations": note}}
        await world.client.patch(CLUSTERS, "member1", patch)
        await world.until(lambda: bool((binding := world.binding("web-deployment")) and is_refused(binding)), 60)
        works = encode((await world.client.list(WORKS)).items).decode()
        assert works.count(HIDDEN) > 3, "an override, the manifests, and what the member said of its value"
        assert HIDDEN not in encode_state(await read_fleet(world.client, world.clock)).decode()

    play(story)


@pytest.mark.parametrize("words", QUOTING)
def test_a_message_keeps_its_own_words_and_no_value_that_it_quotes(words: str) -> None:
    message = f"{OURS}, {words}{REFUSED}"
    task = GracefulEvictionTask("a", "TaintUntolerated", "TaintManager", message=message)
    held = Condition(EVICTION_HELD_CONDITION, "True", "ReplacementUnhealthy", message)
    failed = Condition(OVERRIDE_FAILED_CONDITION, "True", "ApplyOverridePolicyFailed", REFUSED)
    there = binding(divided({"a": 1}), 1, targets(a=1), (task,))
    there = msgspec.structs.replace(there, status=ResourceBindingStatus(conditions=(held, failed)))
    step = OutageStep(at=NOW, kind=StepKind.HELD, message=message)
    outage = ClusterOutage(spec=OutageSpec(cluster="a", since=NOW), status=OutageStatus(steps=(step,)))
    kept, told = redacted_binding(there), redacted_outage(outage)
    messages = [each.message for each in (*kept.spec.graceful_eviction_tasks, *kept.status.conditions)]
    own = f"{OURS}, {words}{LEFT_OUT}"
    assert [*messages, told.status.steps[0].message] == [own, own, LEFT_OUT, own]
    assert encode(redacted_binding(there, messages=True)).decode().count(HIDDEN) == 3, "who may read it, reads it"


def test_no_message_of_a_cluster_and_no_address_has_its_credentials() -> None:
    proxy = f"http://user:{HIDDEN}@proxy.example:3128/{HIDDEN}"
    there = cluster("a", proxy_url=proxy, api_endpoint=f"https://admin:{HIDDEN}@a.example:6443")
    said = f"https://admin:{HIDDEN}@a.example:6443 by {proxy}: no answer"
    told = msgspec.structs.replace(there.status, conditions=(Condition("Ready", "False", "ClusterNotReachable", said),))
    kept = redacted_cluster(msgspec.structs.replace(there, status=told))
    assert kept.spec.api_endpoint == "https://a.example:6443"
    assert [each.message for each in kept.status.conditions] == [f"https://a.example:6443 by {LEFT_OUT}: no answer"]
