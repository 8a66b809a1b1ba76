"""Evidence about a copy: which reports are believed, and of which generation they speak."""

import msgspec
import pytest

from kubeapi.meta import Manifest
from leeward.api.meta import Condition
from leeward.api.names import TEMPLATE_GENERATION_ANNOTATION
from leeward.api.work import Work, WorkloadTemplate, WorkSpec, WorkStatus
from leeward.core.cluster_health.watched_time import CLOCKS_APART
from leeward.core.copies.availability import at_instant, availability
from leeward.core.copies.evidence import AGENT_SETTLES, believed_from, is_about_present, trusted, was_there_before
from tests.builders import NOW, at, cluster, work, works


def at_generation(old: Work, generation: int) -> Work:
    return msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, generation=generation))


OLD = works({"member1": 2})["member1"]


@pytest.mark.parametrize(
    ("applied", "carried", "conditions", "health"),
    [
        (1, 1, ["Applied", "leeward.dev/Reflected"], "Healthy"),
        (0, 1, ["leeward.dev/Reflected"], "Healthy"),
        (1, 0, ["Applied", "leeward.dev/Reflected"], "Unknown"),
    ],
    ids=["of the present one", "an earlier one was applied", "an earlier one was reported on"],
)
def test_what_was_reported_of_an_earlier_generation_is_not_trusted(
    applied: int, carried: int, conditions: list[str], health: str
) -> None:
    copy = work("member1", 2, applied=applied, carried=carried)
    believed = trusted(copy)
    assert [condition.type for condition in believed.status.conditions] == conditions
    (status,) = believed.status.manifest_statuses
    assert (status.health, status.status) == (health, {"readyReplicas": 2})
    assert (believed.metadata, believed.spec) == (copy.metadata, copy.spec)


def test_of_a_work_that_was_never_applied_no_health_is_trusted() -> None:
    bare = msgspec.structs.replace(OLD, status=msgspec.structs.replace(OLD.status, conditions=()))
    believed = trusted(bare)
    assert [status.health for status in believed.status.manifest_statuses] == ["Unknown"]
    assert believed.status.conditions == ()


@pytest.mark.parametrize(("seconds", "before"), [(-1, True), (0, False), (1, False)])
def test_a_copy_was_there_before_when_no_two_clocks_can_explain_it(seconds: float, *, before: bool) -> None:
    made = msgspec.structs.replace(OLD.metadata, creation_timestamp=at(seconds) - CLOCKS_APART)
    assert was_there_before(msgspec.structs.replace(OLD, metadata=made), NOW) is before


def test_of_what_has_no_instant_nothing_was_there_before() -> None:
    made = msgspec.structs.replace(OLD.metadata, creation_timestamp=at(-1_000_000))
    assert not was_there_before(msgspec.structs.replace(OLD, metadata=made), None)
    assert not was_there_before(OLD, NOW)
    assert not was_there_before(None, NOW)


def told_by_karmada(ready: int, *, template_generation: str = "2", observed: int = 1, **status: object) -> Work:
    """The Work of a copy in a member with Karmada's own agent, as that reports it."""
    (report,) = OLD.status.manifest_statuses
    fields = {"readyReplicas": ready, "resourceTemplateGeneration": 2, "generation": 1, "observedGeneration": observed}
    said = msgspec.structs.replace(report, status={**fields, **status})
    manifest = {"metadata": {"annotations": {TEMPLATE_GENERATION_ANNOTATION: template_generation}}}
    applied = Condition("Applied", "True", "AppliedSuccessful")
    return msgspec.structs.replace(
        OLD,
        spec=WorkSpec(workload=WorkloadTemplate(manifests=(manifest,))),
        status=WorkStatus(conditions=(applied,), manifest_statuses=(said,)),
    )


def refused(told: Work) -> Work:
    conditions = (Condition("Applied", "False", "AppliedFailed"),)
    return msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, conditions=conditions))


def beside_another(told: Work) -> Work:
    """Adds a manifest of which nothing is reported."""
    manifests = (*told.spec.workload.manifests, {"metadata": {"name": "other"}})
    return msgspec.structs.replace(told, spec=WorkSpec(workload=WorkloadTemplate(manifests=manifests)))


def test_other_replicas_of_a_kind_with_a_rule_are_no_other_template() -> None:
    told = at_generation(told_by_karmada(1), 2)
    (manifest,) = told.spec.workload.manifests
    asking = WorkSpec(workload=WorkloadTemplate(manifests=({**manifest, "spec": {"replicas": 3}},)))
    known = availability(msgspec.structs.replace(told, spec=asking), cluster("member1"), 3)
    assert known.since is not None
    assert known.at_least == 1


@pytest.mark.parametrize(("reflected", "ready"), [(49, 0), (50, 2), (None, 0)])
def test_s1_what_was_read_before_the_cluster_became_ready_is_not_fresh(reflected: float | None, ready: int) -> None:
    copy = work("member1", 2, reflected=reflected or 0)
    if reflected is None:
        conditions = tuple(msgspec.structs.replace(c, last_transition_time=None) for c in copy.status.conditions)
        copy = msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, conditions=conditions))
    back = cluster("member1")
    conditions = (msgspec.structs.replace(back.status.conditions[0], last_transition_time=at(50)),)
    back = msgspec.structs.replace(back, status=msgspec.structs.replace(back.status, conditions=conditions))
    assert availability(copy, back, 2).at_least == ready


def test_a_report_without_generations_is_believed_as_karmada_believes_it() -> None:
    told = told_by_karmada(2)
    assert availability(told, cluster("member1"), 2).is_whole
    assert availability(told, cluster("member1"), 2).since is not None
    assert trusted(told) is told


@pytest.mark.parametrize(
    "told",
    [
        told_by_karmada(2, template_generation="3"),
        told_by_karmada(2, observed=0),
        msgspec.structs.replace(told_by_karmada(2), status=WorkStatus()),
        refused(told_by_karmada(2)),
        beside_another(told_by_karmada(2)),
    ],
    ids=[
        "of another template",
        "of an object that was not looked at",
        "never applied",
        "refused",
        "of one of two manifests",
    ],
)
def test_a_report_that_is_about_something_else_is_not_believed_s1(told: Work) -> None:
    assert not availability(told, cluster("member1"), 2).is_whole
    assert availability(told, cluster("member1"), 2).since is None


def test_a_report_without_counts_is_not_known_to_serve_nothing_s1() -> None:
    told = told_by_karmada(0)
    (said,) = told.status.manifest_statuses
    silent = msgspec.structs.replace(said, status=None)
    told = msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, manifest_statuses=(silent,)))
    assert availability(told, cluster("member1"), 2).since is None


def test_what_is_applied_and_was_not_looked_at_is_not_believed_as_karmadas_is_s1() -> None:
    told = told_by_karmada(2)
    (applied,) = told.status.conditions
    ours = msgspec.structs.replace(applied, observed_generation=1)
    status = msgspec.structs.replace(told.status, conditions=(ours,))
    assert (is_about_present(told), is_about_present(msgspec.structs.replace(told, status=status))) == (True, False)


def test_fewer_ready_replicas_than_asked_for_are_not_healthy_whoever_reports_them_s1() -> None:
    assert not availability(told_by_karmada(1), cluster("member1"), 2).is_whole


def test_a_report_of_karmadas_agent_is_believed_a_minute_after_its_cluster_has_returned_s1() -> None:
    told = told_by_karmada(2)
    assert believed_from(told, cluster("member1")) == at(0) + AGENT_SETTLES
    assert believed_from(OLD, cluster("member1")) is None, "ours says itself what it is about"
    (applied,) = told.status.conditions
    later = msgspec.structs.replace(applied, last_transition_time=at(5))
    anew = msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, conditions=(later,)))
    assert believed_from(anew, cluster("member1")) is None, "it was applied after that"


def test_a_report_of_karmadas_agent_waits_for_nothing_that_is_not_there() -> None:
    told = told_by_karmada(2)
    assert believed_from(None, cluster("member1")) is None
    assert believed_from(told, None) is None
    assert believed_from(told, cluster("member1", ready=None)) is None
    timeless = msgspec.structs.replace(cluster("member1").status.conditions[0], last_transition_time=None)
    status = msgspec.structs.replace(cluster("member1").status, conditions=(timeless,))
    assert believed_from(told, msgspec.structs.replace(cluster("member1"), status=status)) is None
    (applied,) = told.status.conditions
    at_once = msgspec.structs.replace(applied, last_transition_time=at(0))
    anew = msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, conditions=(at_once,)))
    assert believed_from(anew, cluster("member1")) == at(0) + AGENT_SETTLES, "it may have been applied before it left"


def test_until_then_a_copy_may_serve_all_of_its_replicas_s1() -> None:
    told = told_by_karmada(0)
    known = availability(told, cluster("member1"), 2)
    assert [at_instant(known, 2, at(seconds)).at_most for seconds in (59, 60)] == [2, 0]


@pytest.mark.parametrize(
    ("generation", "ready", "is_told"), [(1, None, True), (2, 1, False), (2, None, False), (2, 2, True)]
)
def test_other_replicas_of_a_kind_without_a_rule_are_counted_s1(
    generation: int, ready: int | None, is_told: bool
) -> None:
    (report,) = OLD.status.manifest_statuses
    counts = {} if ready is None else {"readyReplicas": ready}
    said = msgspec.structs.replace(
        report, identifier=msgspec.structs.replace(report.identifier, kind="CloneSet"), status=counts
    )
    told = told_by_karmada(2)
    manifest = {"metadata": {}, "spec": {"replicas": 2}}
    told = msgspec.structs.replace(
        at_generation(told, generation),
        spec=WorkSpec(workload=WorkloadTemplate(manifests=(manifest,))),
        status=msgspec.structs.replace(told.status, manifest_statuses=(said,)),
    )
    assert availability(told, cluster("member1"), 2).is_whole is is_told
    uncounted = WorkSpec(workload=WorkloadTemplate(manifests=({"metadata": {}},)))
    assert is_about_present(msgspec.structs.replace(told, spec=uncounted)), "it asks for no number"


def test_a_status_that_has_no_observed_generation_is_believed() -> None:
    told = told_by_karmada(2)
    (said,) = told.status.manifest_statuses
    fields: Manifest = dict(said.status or {})
    fields.pop("observedGeneration")
    silent = msgspec.structs.replace(said, status=fields)
    told = msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, manifest_statuses=(silent,)))
    assert availability(told, cluster("member1"), 2).is_whole
