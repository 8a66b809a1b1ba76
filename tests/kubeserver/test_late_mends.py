"""Answers of kube-apiserver 1.36 that this server came to last, each over the whole way from a request."""

from typing import Any

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    DEFINITIONS,
    PODS,
    WIDGETS,
    Answer,
    ApiWorld,
    config_map,
    pod,
    tell,
    widget,
    widgets,
)

JOBS = "/apis/batch/v1/namespaces/default/jobs"
CORE_EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
APPLY = "application/apply-patch+yaml"


def job(name: str, **spec: Any) -> Manifest:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "image:1"}]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}}


def definition(versions: list[Manifest]) -> Manifest:
    made = widgets()
    return {**made, "spec": {**made["spec"], "versions": versions}}


def causes(answer: Answer) -> list[tuple[str, str]]:
    return [(each["field"], each["message"]) for each in answer.body["details"]["causes"]]


def test_the_status_of_a_custom_object_that_is_not_there_is_not_found_whatever_is_sent() -> None:
    async def story(world: ApiWorld) -> None:
        answer = await world.update(f"{WIDGETS}/gone/status", {**widget("gone", size=1), "status": {}})
        assert (answer.code, answer.body["reason"]) == (404, "NotFound")
        assert (await world.create(WIDGETS, widget("there", size=1))).code == 201
        unversioned = await world.update(f"{WIDGETS}/there/status", widget("there", size=1))
        assert (unversioned.code, "resourceVersion" in unversioned.body["message"]) == (422, True)

    tell(story, crds=[widgets()])


def test_an_owner_reference_is_owned_as_one() -> None:
    async def story(world: ApiWorld) -> None:
        owner = await world.create(CONFIG_MAPS, config_map("owner"))
        uid = owner.body["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        child: Manifest = {"apiVersion": "v1", "kind": "ConfigMap"}
        child |= {"metadata": {"name": "child", "ownerReferences": [reference]}}
        path = f"{CONFIG_MAPS}/child"
        applied = await world.patch(path, child, APPLY, fieldManager="a")
        (entry,) = applied.body["metadata"]["managedFields"]
        assert entry["fieldsV1"]["f:metadata"]["f:ownerReferences"] == {f'k:{{"uid":"{uid}"}}': {}}
        other = {**child, "metadata": {"name": "child", "ownerReferences": [{**reference, "controller": True}]}}
        conflict = await world.patch(path, other, APPLY, fieldManager="b")
        assert conflict.code == 409
        assert [field for field, _ in causes(conflict)] == [f'.metadata.ownerReferences[uid="{uid}"]']

    tell(story)


def test_a_pod_that_ends_before_it_is_asked_to_is_given_a_second() -> None:
    async def story(world: ApiWorld) -> None:
        created = await world.create(PODS, pod("hasty", terminationGracePeriodSeconds=-3))
        assert created.body["spec"]["terminationGracePeriodSeconds"] == 1
        shown = await world.get(f"{PODS}/hasty")
        assert shown.body["spec"]["terminationGracePeriodSeconds"] == 1

    tell(story)


def test_a_job_says_that_it_does_not_select_by_hand() -> None:
    """The default of kube-apiserver 1.36.2."""

    async def story(world: ApiWorld) -> None:
        said = await world.create(JOBS, job("said", manualSelector=False))
        assert (said.code, said.body["spec"]["manualSelector"]) == (201, False)
        assert said.body["spec"]["selector"]["matchLabels"]
        silent = await world.create(JOBS, job("silent"))
        assert silent.body["spec"]["manualSelector"] is False

    tell(story)


def test_an_event_of_old_names_no_empty_reporter_in_the_new_group() -> None:
    async def story(world: ApiWorld) -> None:
        about = {"kind": "Pod", "name": "p", "namespace": "default"}
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": about}
        await world.create(CORE_EVENTS, event)
        new = (await world.get(f"{NEW_EVENTS}/e")).body
        assert {"reportingController", "reportingInstance"}.isdisjoint(new)
        assert await world.update(f"{NEW_EVENTS}/e", {**new, "metadata": {**new["metadata"], "labels": {"a": "b"}}})
        old = (await world.get(f"{CORE_EVENTS}/e")).body
        assert (old["reportingComponent"], old["reportingInstance"]) == ("", "")

    tell(story)


def test_a_scale_of_a_custom_object_that_is_invalid_names_that_object() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("w", size=1, replicas=2))
        scale = (await world.get(f"{WIDGETS}/w/scale")).body
        refused = await world.update(f"{WIDGETS}/w/scale", {**scale, "spec": {"replicas": -1}})
        assert (refused.code, refused.body["details"]["kind"]) == (422, "Widget")
        assert causes(refused) == [(".spec.replicas", "Invalid value: -1: should be a non-negative integer")]

    tell(story, crds=[widgets()])


def test_a_definition_without_versions_and_one_without_a_schema_are_told_so() -> None:
    async def story(world: ApiWorld) -> None:
        empty = await world.create(DEFINITIONS, definition([]))
        assert causes(empty) == [
            ("spec.versions", "Invalid value: []: must have exactly one version marked as storage version"),
            ("status.storedVersions", "Invalid value: null: must have at least one stored version"),
        ]
        bare = await world.create(DEFINITIONS, definition([{"name": "v1", "served": True, "storage": True}]))
        assert causes(bare) == [("spec.versions[0].schema.openAPIV3Schema", "Required value: schemas are required")]

    tell(story)


def test_a_key_with_two_slashes_is_told_what_a_label_key_is() -> None:
    async def story(world: ApiWorld) -> None:
        body = {**config_map("c"), "metadata": {"name": "c", "labels": {"a/b/c": "d"}}}
        refused = await world.create(CONFIG_MAPS, body)
        assert "a/b/c" in refused.body["message"]
        assert "a valid label key must consist of alphanumeric characters, '-', '_' or '.'" in refused.body["message"]

    tell(story)
