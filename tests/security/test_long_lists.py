"""Long lists and names: an object may have as many entries as a fleet needs, and what is stored can always be deleted.

    has            the right to write one object of a kind
    does           writes lists of tens of thousands, names of megabytes, and manifests without a name
    must not get   work that grows by the square of a list, or an object that nobody can delete

Holds: L4, S10.
"""

import pytest

from kubeapi.codec import encode
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Invalid, NotFound
from kubeserver.errors import Refused
from kubeserver.kinds.metadata import MAX_ENTRIES
from kubeserver.limits import MAX_FIELDS, check_body
from leeward.api.names import (
    DRAIN_TAINT,
    EXECUTION_CONTROLLER_FINALIZER,
    FLAPPING_TAINT,
    NOT_READY_TAINT,
    execution_space,
)
from leeward.api.resource import WORKS
from leeward.api.rules.bounds import (
    MOST_CLUSTERS,
    MOST_POLICY_TAINTS,
    MOST_REFERENCES,
    MOST_TAINTS,
    MOST_WEBHOOK_RULES,
    MOST_WEBHOOKS,
)
from leeward.api.validation import validate, validate_change
from leeward.sim.world import World
from tests.security.worlds import UnaskedWorld, play_in
from tests.world.stories import CONFIG_MAPS, POLICIES, apply, play, policy
from tests.world.test_overrides import BOTH

RAW_WORKS: Resource[Manifest] = Resource.of_manifests(WORKS.api_version, "works", "Work", True)
SPACE = execution_space("member1")


def binding(**spec: object) -> Manifest:
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"}
    made = {"resource": resource, **spec}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": "b"},
        "spec": made,
    }


def tainted(kind: str, count: int, key: str = "k", **spec: object) -> Manifest:
    taints = [{"key": f"{key}{number}", "effect": "NoSchedule"} for number in range(count)]
    group = "cluster.karmada.io" if kind == "Cluster" else "policy.karmada.io"
    spec = {"taints": taints, **spec}
    return {"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}


def cluster(count: int, key: str = "k") -> Manifest:
    return tainted("Cluster", count, key, syncMode="Pull")


def webhooks(count: int, rules: int) -> Manifest:
    asked = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["Widget"]}
    client = {"url": "https://hook.example.com"}
    hook = {"clientConfig": client, "interpreterContextVersions": ["v1alpha1"], "rules": [asked] * rules}
    made = [{**hook, "name": f"hook{number}.example.com"} for number in range(count)]
    kind = "ResourceInterpreterWebhookConfiguration"
    return {"apiVersion": "config.karmada.io/v1alpha1", "kind": kind, "metadata": {"name": "a"}, "webhooks": made}


def targets(count: int) -> list[Manifest]:
    return [{"name": f"m{number}"} for number in range(count)]


def dependents(count: int, clusters: int) -> list[Manifest]:
    return [{"name": f"app{number}", "clusters": targets(clusters)} for number in range(count)]


def leaving(count: int) -> list[Manifest]:
    return [{"fromCluster": f"m{number}", "reason": "R", "producer": "P"} for number in range(count)]


@pytest.mark.parametrize(
    ("most", "more", "field"),
    [
        (binding(clusters=targets(MOST_CLUSTERS)), binding(clusters=targets(MOST_CLUSTERS + 1)), "spec"),
        (binding(requiredBy=dependents(20, 1_000)), binding(requiredBy=dependents(21, 1_000)), "spec"),
        (binding(requiredBy=dependents(1, 4_999)), binding(requiredBy=dependents(1, 5_001)), "spec"),
        (
            binding(gracefulEvictionTasks=leaving(MOST_CLUSTERS)),
            binding(gracefulEvictionTasks=leaving(MOST_CLUSTERS + 1)),
            "spec",
        ),
        (webhooks(MOST_WEBHOOKS, 1), webhooks(MOST_WEBHOOKS + 1, 1), "webhooks"),
        (webhooks(2, MOST_WEBHOOK_RULES // 2), webhooks(2, MOST_WEBHOOK_RULES // 2 + 1), "webhooks"),
        (cluster(MOST_TAINTS), cluster(MOST_TAINTS + 1), "spec.taints"),
        (
            tainted("ClusterTaintPolicy", MOST_POLICY_TAINTS),
            tainted("ClusterTaintPolicy", MOST_POLICY_TAINTS + 1),
            "spec.taints",
        ),
    ],
)
def test_l4_a_list_has_a_bound_that_a_stored_one_may_keep(most: Manifest, more: Manifest, field: str) -> None:
    assert validate(most) == []
    (problem,) = validate(more)
    assert (problem.field, problem.message.partition(":")[0]) == (field, "Too many")
    assert validate_change(more, more) == []
    touched = {**more, "metadata": {**more["metadata"], "labels": {"a": "b"}}}
    assert validate_change(touched, more) == []
    assert validate_change(most, more) == []
    assert MOST_REFERENCES == 20 * 1_000


def test_s10_a_failover_of_what_many_share_keeps_the_old_clusters_beside_the_new() -> None:
    full, moving = binding(requiredBy=dependents(400, 50)), binding(requiredBy=dependents(400, 51))
    assert validate_change(moving, full) == []
    most, more = binding(requiredBy=dependents(800, 50)), binding(requiredBy=dependents(801, 50))
    assert validate_change(most, full) == []
    (problem,) = validate_change(more, full)
    assert (problem.field, "copy its template under several names" in problem.message) == ("spec", True)
    exchanged = binding(requiredBy=[*dependents(800, 50), {"name": "other", "clusters": targets(50)}])
    assert validate_change(exchanged, more) == []
    assert validate(moving) != []


def test_s10_a_failover_from_as_many_clusters_as_there_may_be_is_written() -> None:
    full = binding(clusters=targets(MOST_CLUSTERS))
    moved = binding(clusters=targets(MOST_CLUSTERS + 1)[1:], gracefulEvictionTasks=leaving(1))
    assert validate_change(moved, full) == []


@pytest.mark.parametrize("key", [NOT_READY_TAINT, DRAIN_TAINT, FLAPPING_TAINT])
def test_s10_the_taints_of_an_outage_and_a_drain_are_written_beside_any_number_of_others(key: str) -> None:
    full = cluster(MOST_TAINTS)
    ours = {"key": key, "effect": "NoExecute"}
    out = {**full, "spec": {**full["spec"], "taints": [*full["spec"]["taints"], ours]}}
    assert validate_change(out, full) == []


@pytest.mark.parametrize("field", ["apiVersion", "kind", "namespace", "name", "uid", "resourceVersion"])
def test_l4_a_binding_names_a_template_by_names_that_objects_may_have(field: str) -> None:
    long = binding()
    long["spec"]["resource"][field] = "K" * 1_000_000
    assert [(each.field, each.kind) for each in validate(long)] == [(f"spec.resource.{field}", "FieldValueTooLong")]
    assert validate_change(long, long) == []


def test_l4_a_body_has_a_bounded_number_of_fields_but_definitions_have_more() -> None:
    most, more = ({"a": {f"k{number}": "1" for number in range(count)}} for count in (MAX_FIELDS - 1, MAX_FIELDS))
    check_body(encode(most))
    with pytest.raises(Refused, match=f"more than {MAX_FIELDS} fields"):
        check_body(encode(more))
    check_body(encode(more), large=True)
    check_body(encode({"text": '":' * MAX_FIELDS}))


def test_l4_a_status_has_a_bounded_number_of_fields_of_whatever_resource() -> None:
    """A Work may be large by its manifests; conditions have no manifests."""
    most, more = ({"status": {f"k{number}": "1" for number in range(count)}} for count in (MAX_FIELDS, MAX_FIELDS + 1))
    check_body(encode(most), large=True)
    for told in (more, [{"op": "add", "path": "/status", "value": more}]):
        with pytest.raises(Refused, match=f"more than {MAX_FIELDS} fields"):
            check_body(encode(told), large=True)


def work(*manifests: Manifest) -> Manifest:
    metadata = {"name": "made", "finalizers": [EXECUTION_CONTROLLER_FINALIZER]}
    return {"metadata": metadata, "spec": {"workload": {"manifests": [*manifests]}}}


GOOD: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good", "namespace": "default"}}
BAD: list[Manifest] = [
    {"kind": "ConfigMap", "metadata": {"name": "bad", "namespace": "default"}},
    {"apiVersion": "v1", "metadata": {"name": "bad"}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}},
    {"apiVersion": "v1", "kind": "ConfigMap"},
    {},
]


@pytest.mark.parametrize("bad", BAD)
def test_a_manifest_that_does_not_say_of_which_object_it_is_is_refused_by_its_field(bad: Manifest) -> None:
    async def story(world: World) -> None:
        with pytest.raises(Invalid, match=r"spec\.workload\.manifests\[1\]\.\S+: Required value"):
            await world.client.create(RAW_WORKS, work(GOOD, bad), SPACE)

    play(story, {"member1": "Push"})


@pytest.mark.parametrize("bad", BAD)
def test_l4_a_manifest_that_was_stored_without_a_name_is_told_and_holds_up_nothing(bad: Manifest) -> None:
    """Admission was not asked. The other manifests are applied, the Work says which one is not, and can be deleted."""

    async def story(world: World) -> None:
        await world.client.create(RAW_WORKS, work(bad, GOOD), SPACE)
        await world.sleep(30)
        member = world.member("member1").client
        assert (await member.get(CONFIG_MAPS, "good", "default"))["metadata"]["name"] == "good"
        applied = (await world.client.get(WORKS, "made", SPACE)).applied
        assert applied is not None
        assert "spec.workload.manifests[0]: set apiVersion, kind and metadata.name" in applied.message
        await world.client.delete(WORKS, "made", SPACE)
        await world.sleep(60)
        with pytest.raises(NotFound):
            await world.client.get(RAW_WORKS, "made", SPACE)

    play_in(UnaskedWorld, story, {"member1": "Push"})


def test_l4_a_policy_with_as_many_labels_as_there_may_be_can_be_deleted() -> None:
    """Admission adds the mark of the policy, and the finalizer goes by a patch."""

    async def story(world: World) -> None:
        full = policy("full", BOTH)
        full["metadata"]["labels"] = {f"k{number}": "v" for number in range(MAX_ENTRIES)}
        await apply(world.client, full)
        await world.sleep(5)
        await world.client.delete(POLICIES, "full", "default")
        await world.sleep(30)
        with pytest.raises(NotFound):
            await world.client.get(POLICIES, "full", "default")
        full["metadata"]["labels"]["more"] = "v"
        with pytest.raises(Invalid, match="Too many"):
            await apply(world.client, full)

    play(story, {"member1": "Push"})
