"""Meanings of kinds of other projects, against the recorded answers of the scripts that Karmada brings for them.

A script of Lua takes no null and brings back nothing that is empty; our rules lose neither. Answers are therefore
compared as such a script would give them: `as_script` is what becomes of plain values on the way there and back.
"""

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from kubeapi.codec import copy_manifest, to_wire
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter import dependencies_of
from leeward.core.interpreter.kinds import rules_of
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.thirdparty.pod_templates import without_nulls
from tests.oracle import Case, Difference, all_at, amounts, at, load, replay

SUITE = "thirdparty"
FAILS = "error"
NO_HOOK = {"enabled": False}
RULES = {
    "GetReplicas": "replicas",
    "GetComponents": "components",
    "ReviseReplica": "revise",
    "Retain": "retain",
    "AggregateStatus": "aggregate",
    "GetDependencies": "dependencies",
    "ReflectStatus": "reflect",
    "InterpretHealth": "is_healthy",
}


def without_empties(value: Any) -> Any:
    """Value without what is empty, of one level only: what is empty because of this stays."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {key: without_empties(each) for key, each in members.items() if each not in ({}, [])}
    if isinstance(value, list):
        return [without_empties(each) for each in cast("list[Any]", value) if each not in ({}, [])]
    return value


def as_script(value: Any) -> Any:
    return without_empties(without_nulls(value))


def by_amount(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        told = amounts(members.get("resourceRequest"))
        rest = {key: by_amount(each) for key, each in members.items() if key != "resourceRequest"}
        return {**rest, **({"resourceRequest": told} if told else {})}
    return [by_amount(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def items_of(case: Case) -> list[AggregatedStatusItem]:
    return [
        AggregatedStatusItem(cluster_name=at(item, "clusterName") or "", status=without_nulls(at(item, "status")))
        for item in all_at(case.given, "items")
    ]


def answer(case: Case) -> Any:
    manifest = without_nulls(case.given["object"])
    rule = getattr(rules_of(manifest), RULES[case.op])
    if rule is None:
        return NO_HOOK
    try:
        return ANSWERS[case.op](case, manifest, rule)
    except InterpretationError:
        return FAILS


def replicas(case: Case, manifest: Any, rule: Any) -> Any:
    count, requirements = rule(manifest)
    return {"replicas": count, "requirements": by_amount(to_wire(requirements))}


def revised(case: Case, manifest: Any, rule: Any) -> Any:
    changed = copy_manifest(manifest)
    rule(changed, case.given["replica"])
    return {"object": as_script(changed)}


def retained(case: Case, manifest: Any, rule: Any) -> Any:
    changed = copy_manifest(manifest)
    rule(changed, without_nulls(case.given["observed"]))
    return {"object": as_script(changed)}


def aggregated(case: Case, manifest: Any, rule: Any) -> Any:
    """The status, since nothing else of the object is written."""
    status = rule(manifest, items_of(case))
    return {"status": as_script(manifest.get("status") if status is None else status) or None}


ANSWERS: dict[str, Callable[[Case, Any, Any], Any]] = {
    "GetReplicas": replicas,
    "GetComponents": lambda case, manifest, rule: {"components": by_amount(to_wire(rule(manifest)))},
    "ReviseReplica": revised,
    "Retain": retained,
    "AggregateStatus": aggregated,
    "GetDependencies": lambda case, manifest, rule: {"dependencies": to_wire(dependencies_of(manifest))},
    "ReflectStatus": lambda case, manifest, rule: {"status": as_script(rule(manifest))},
    "InterpretHealth": lambda case, manifest, rule: {"healthy": rule(manifest)},
}


def expected(case: Case) -> Any:
    wanted = {key: value for key, value in case.expected.items() if key != "unordered"}
    if wanted.get("error"):
        return FAILS
    if wanted == NO_HOOK:
        return NO_HOOK
    if case.op == "AggregateStatus":
        return {"status": at(wanted, "object", "status") or None}
    if case.op in ("ReviseReplica", "Retain"):
        return {"object": without_empties(wanted["object"])}
    if case.op == "GetReplicas":
        return {**wanted, "requirements": by_amount(wanted["requirements"])}
    if case.op in ("GetComponents", "GetDependencies"):
        return {name: by_amount(value or []) for name, value in wanted.items()}
    return wanted


def differs(case: Case) -> Difference | None:
    return next((difference for applies, difference in DIFFERENCES if applies(case)), None)


def is_stamped(case: Case) -> bool:
    return any(
        each.get("lastTransitionTime") == "<now>" for each in all_at(case.expected, "object", "status", "conditions")
    )


def check_stamps(case: Case, got: Any) -> None:
    """Ours is dated as the last condition of the members, or not at all where they have none."""
    told: list[Any] = [c for item in items_of(case) for c in all_at(item.status, "conditions") if c]
    since = max((each.get("lastTransitionTime") or "" for each in told), default="")
    for condition in all_at(got, "status", "conditions"):
        for name in ("lastProbeTime", "lastTransitionTime"):
            assert condition.pop(name, "") in ("", since)
    wanted = expected(case)
    for condition in all_at(wanted, "status", "conditions"):
        for name in ("lastProbeTime", "lastTransitionTime"):
            assert condition.pop(name) == "<now>"
    assert got == wanted


def check_as_empty(case: Case, got: Any) -> None:
    assert got == answer(Case(case.id, case.op, case.kind, {**case.given, "items": []}, case.expected))


def check_failed_clusters(case: Case, got: Any) -> None:
    failed = [
        item.cluster_name
        for item in items_of(case)
        if any(at(c, "type") == "Failed" and at(c, "status") == "True" for c in all_at(item.status, "conditions"))
    ]
    (condition,) = got["status"]["conditions"]
    assert condition["message"] == f"Job executed failed in member clusters: {', '.join(failed)}"
    wanted = expected(case)["status"]
    assert {**got["status"], "conditions": []} == {**wanted, "conditions": []}


def check_namespace(case: Case, got: Any) -> None:
    wanted = expected(case)["dependencies"]
    assert [{k: v for k, v in each.items() if k != "namespace"} for each in wanted] == got["dependencies"]


def check_rule_counts(case: Case, got: Any) -> None:
    for name, total in got["status"]["rulecount"].items():
        assert total == sum(at(item.status, "rulecount", name) or 0 for item in items_of(case))


def check_worst_state(case: Case, got: Any) -> None:
    states = {at(item.status, "applicationState", "state") for item in items_of(case)}
    assert at(got, "status", "applicationState", "state") == next(s for s in ("FAILED", "RUNNING") if s in states)


def check_names_nothing(case: Case, got: Any) -> None:
    assert got["dependencies"]
    assert all(each["name"] for each in got["dependencies"])


def check_accelerators(case: Case, got: Any) -> None:
    ours, theirs = (each["requirements"]["resourceRequest"] for each in (got, expected(case)))
    assert {name: amount for name, amount in ours.items() if name in ("cpu", "memory")} == theirs
    assert set(ours) > set(theirs)


def worker_resources(case: Case) -> set[str]:
    groups = all_at(case.given, "object", "spec", "rayClusterConfig", "workerGroupSpecs")
    containers = [c for group in groups for c in all_at(group, "template", "spec", "containers")]
    resources: list[Any] = [at(c, "resources", kind) for c in containers for kind in ("requests", "limits")]
    return {str(name) for each in resources for name in each or ()}


def expressions_are_empty(case: Case) -> bool:
    spec = ("spec", "template", "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return {} in all_at(case.given, "object", *spec, "nodeSelectorTerms")


def check_empty_terms(case: Case, got: Any) -> None:
    assert at(got, "requirements", "nodeClaim", "hardNodeAffinity", "nodeSelectorTerms") == [{}]


def has_wrong_texts(value: Any) -> bool:
    """Tells whether a field that is a text in every pod template is something else here."""
    if isinstance(value, list):
        return any(has_wrong_texts(each) for each in cast("list[Any]", value))
    if not isinstance(value, dict):
        return False
    members = cast("dict[str, Any]", value)
    texts = [members[name] for name in ("name", "image", "key") if members.get(name) is not None]
    return any(not isinstance(text, str) for text in texts) or any(has_wrong_texts(each) for each in members.values())


def has_init_containers(case: Case) -> bool:
    return bool(all_at(case.given, "object", "spec", "initContainers"))


def check_more(case: Case, got: Any) -> None:
    ours, theirs = ({(d["kind"], d["name"]) for d in each["dependencies"]} for each in (got, expected(case)))
    assert ours > theirs


Applies = Callable[[Case], bool]


def is_of(*kinds: str) -> Applies:
    return lambda case: case.kind in kinds


def has_item_without(*path: str) -> Applies:
    return lambda case: any(at(item, "status", *path) is None for item in all_at(case.given, "items"))


def all_of(*conditions: Applies) -> Applies:
    return lambda case: all(condition(case) for condition in conditions)


def does(op: str) -> Applies:
    return lambda case: case.op == op


def lacks(*path: str) -> Applies:
    return lambda case: at(case.given, "object", *path) is None


def lacks_a_rule_count(case: Case) -> bool:
    names = {"validate", "generate", "mutate", "verifyimages"}
    counts: list[Any] = [at(item, "status", "rulecount") for item in all_at(case.given, "items")]
    return any(isinstance(count, dict) and bool(names - set(without_nulls(count))) for count in counts)


def fails(case: Case) -> bool:
    return case.expected.get("error") is True


def refused(case: Case, got: Any) -> None:
    assert got == FAILS


def nothing(case: Case, got: Any) -> None:
    assert got == {"dependencies": []}


def same_without_account(case: Case, got: Any) -> None:
    assert {each["kind"] for each in got["dependencies"]} <= {"Secret"}


def named_by_steps(case: Case) -> set[str]:
    """The names that stand where a container or a volume of a template names an object."""
    steps: list[Any] = at(case.given, "object", "spec", "templates") or []
    return {name for step in steps if isinstance(step, dict) for name in _names_in(cast(dict[str, Any], step))}


def _names_in(value: Any, of: str = "") -> Iterator[str]:
    fields = {"configMapRef", "configMapKeyRef", "secretRef", "secretKeyRef", "configMap", "secret"}
    match value:
        case dict():
            for key, member in cast(dict[str, Any], value).items():
                is_name = (of in fields and key in ("name", "secretName")) or key in ("claimName", "serviceAccountName")
                if is_name and isinstance(member, str):
                    yield member
                yield from _names_in(member, key)
        case list():
            yield from (name for member in cast(list[Any], value) for name in _names_in(member, of))
        case _:
            return


def check_steps(case: Case, got: Any) -> None:
    """Karmada's, and beside them only what templates name."""
    ours, theirs = ({(d["kind"], d["name"]) for d in each["dependencies"]} for each in (got, expected(case)))
    assert ours >= theirs
    assert {name for _, name in ours - theirs} <= named_by_steps(case)


DIFFERENCES: list[tuple[Applies, Difference]] = [
    (
        all_of(does("AggregateStatus"), lambda case: case.given.get("items") is None),
        Difference("no items are an empty list: we do not tell them from null", check_as_empty),
    ),
    (
        all_of(does("AggregateStatus"), is_stamped),
        Difference("a decision has no clock: a condition is dated as the members' own", check_stamps),
    ),
    (
        all_of(does("AggregateStatus"), is_of("BroadcastJob"), has_item_without("conditions")),
        Difference("Karmada takes a cluster without conditions for the one before it", check_failed_clusters),
    ),
    (
        all_of(does("AggregateStatus"), is_of("ClusterPolicy", "Policy"), lacks_a_rule_count, fails),
        Difference("Karmada fails on a count of rules that is not told; we count none", check_rule_counts),
    ),
    (
        all_of(
            does("AggregateStatus"), is_of("SparkApplication"), has_item_without("applicationState", "state"), fails
        ),
        Difference("Karmada fails on a state that is not told; we go by the others", check_worst_state),
    ),
    (
        all_of(does("GetReplicas"), is_of("RayService"), lambda case: bool(worker_resources(case) - {"cpu", "memory"})),
        Difference("Karmada forgets what else than cpu and memory workers ask for", check_accelerators),
    ),
    (
        all_of(does("GetReplicas"), expressions_are_empty),
        Difference("a script loses an empty term of a node selector; we keep it", check_empty_terms),
    ),
    (
        all_of(does("GetDependencies"), lacks("metadata", "namespace")),
        Difference("Karmada says `default` of some kinds for an object without a namespace", check_namespace),
    ),
    (
        all_of(does("GetDependencies"), is_of("AdvancedCronJob"), fails, lambda case: not names_something(case)),
        Difference("Karmada fails on a job that depends on nothing", nothing),
    ),
    (
        all_of(does("GetDependencies"), is_of("SidecarSet"), fails),
        Difference("Karmada fails on a reference without a name; we leave it out", check_names_nothing),
    ),
    (
        all_of(does("GetDependencies"), is_of("OCIRepository"), fails, lacks("spec", "serviceAccountName")),
        Difference("Karmada fails without a ServiceAccount, which need not be named", same_without_account),
    ),
    (
        all_of(does("GetDependencies"), is_of("RayService", "SidecarSet"), lambda case: has_wrong_texts(case.given)),
        Difference("a pod template whose fields have wrong types is refused", refused),
    ),
    (
        all_of(does("GetDependencies"), is_of("SidecarSet"), has_init_containers),
        Difference("Karmada overlooks what init containers of a SidecarSet name", check_more),
    ),
    (
        all_of(does("GetDependencies"), is_of("Workflow"), lambda case: not fails(case) and bool(named_by_steps(case))),
        Difference("Karmada overlooks what the templates of a Workflow name", check_steps),
    ),
]


def names_something(case: Case) -> bool:
    text = str(case.given["object"].get("spec"))
    return any(f"{kind}'" in text for kind in ("configMap", "secret", "configMapKeyRef", "secretKeyRef", "secretRef"))


@pytest.mark.parametrize(
    ("op", "at_least"),
    [
        ("GetReplicas", 250),
        ("GetComponents", 280),
        ("ReviseReplica", 120),
        ("Retain", 190),
        ("AggregateStatus", 850),
        ("GetDependencies", 480),
        ("ReflectStatus", 450),
        ("InterpretHealth", 680),
    ],
)
def test_kinds_of_other_projects_are_understood_as_karmada_does(op: str, at_least: int) -> None:
    replay(load(SUITE, op), answer, expected, differs=differs, at_least=at_least)


def test_answers_to_drawn_changes_of_these_objects_are_karmadas() -> None:
    """Recorded from Karmada's sources of k8s.io/api 0.36.2: its own scripts, in its own Lua machine.

    The objects are those of `thirdparty`, with one to three fields taken out or changed.
    """
    replay(load(f"{SUITE}_drawn"), answer, expected, differs=differs, at_least=280)
