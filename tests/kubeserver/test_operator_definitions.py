"""Definitions as operators bring them: what fits is kept, what does not is refused with the reason.

An object that fits is created, applied by the server, labelled, written back as it was read, given a status and shown
in a table.
"""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import DEFINITIONS, TABLE, Answer, ApiWorld, tell
from tests.kubeserver.operator_definitions import CASES, definition, struct

APPLY = "application/apply-patch+yaml"
THINGS = "/apis/acme.example/v1/namespaces/default/things"


def thing(name: str, spec: Any) -> Manifest:
    return {"apiVersion": "acme.example/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


async def expect(code: int, answer: Answer) -> Manifest:
    assert answer.code == code, answer.body
    return answer.body


@pytest.mark.parametrize("name", CASES)
def test_an_object_that_fits_is_kept_in_every_way(name: str) -> None:
    async def story(world: ApiWorld) -> None:
        case = CASES[name]
        await expect(201, await world.create(DEFINITIONS, definition(case)))
        stored = case.fits if case.stored is None else case.stored
        made = await expect(201, await world.create(THINGS, thing("a", case.fits), fieldValidation="Ignore"))
        assert made["spec"] == stored
        applied = await world.patch(f"{THINGS}/b", thing("b", stored), APPLY, fieldManager="me")
        assert (await expect(201, applied))["spec"] == stored
        again = await world.patch(f"{THINGS}/b", thing("b", stored), APPLY, fieldManager="me")
        assert (await expect(200, again))["metadata"]["resourceVersion"] == applied.version
        await expect(200, await world.patch(f"{THINGS}/a", {"metadata": {"labels": {"x": "y"}}}))
        condition = {"type": "Ready", "status": "True", "at": "2026-01-01T00:00:00Z"}
        status = {"status": {"replicas": 1, "conditions": [condition]}}
        await expect(200, await world.patch(f"{THINGS}/a/status", status))
        read = await expect(200, await world.get(f"{THINGS}/a"))
        assert (read["spec"], read["status"]) == (stored, status["status"])
        await expect(200, await world.update(f"{THINGS}/a", read))
        table = await expect(200, await world.call("GET", THINGS, accept=TABLE))
        assert [row["cells"][0] for row in table["rows"]] == ["a", "b"]
        await expect(200, await world.delete(f"{THINGS}/a"))

    tell(story)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_an_object_that_does_not_fit_is_refused_with_the_reason(name: str) -> None:
    async def story(world: ApiWorld) -> None:
        case = CASES[name]
        await expect(201, await world.create(DEFINITIONS, definition(case)))
        for spec, said in case.refused:
            refused = await expect(422, await world.create(THINGS, thing("refused", spec)))
            assert said in refused["message"], refused["message"]
            applied = await world.patch(f"{THINGS}/refused", thing("refused", spec), APPLY, fieldManager="me")
            assert applied.code >= 400
            assert (await world.get(f"{THINGS}/refused")).code == 404

    tell(story)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("a field does not change (Kueue, JobSet, Trainer)", {"queue": "b"}, "field is immutable"),
        ("a field is set once (Cluster API, Kueue)", {"host": None}, "host is kept"),
        (
            "an item of a list is compared with its former self (Kueue, JobSet)",
            {"jobs": [{"name": "b", "replicas": 3}, {"name": "a", "image": "y"}]},
            "spec.jobs[1].image: Invalid value",
        ),
    ],
)
def test_a_change_that_is_not_allowed_is_refused(name: str, change: Manifest, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        await expect(201, await world.create(DEFINITIONS, definition(CASES[name])))
        await expect(201, await world.create(THINGS, thing("a", CASES[name].fits)))
        refused = await expect(422, await world.patch(f"{THINGS}/a", {"spec": change}))
        assert said in refused["message"]

    tell(story)


def test_a_selected_field_and_columns_are_answered() -> None:
    async def story(world: ApiWorld) -> None:
        case = CASES["fields are selected by (cert-manager, Crossplane)"]
        columns = CASES["columns show lists, times and nothing (Apisix, Volcano, Cluster API)"]
        both = case._replace(spec=struct(**case.spec["properties"], **columns.spec["properties"]))
        await expect(
            201, await world.create(DEFINITIONS, definition(both._replace(version={**case.version, **columns.version})))
        )
        for name in "ab":
            await expect(
                201, await world.create(THINGS, thing(name, {"host": name, "hosts": [f"{name}.x", "y"], "n": 1}))
            )
        assert (await world.get(THINGS, fieldSelector="spec.host=b")).names == ["b"]
        table = await expect(200, await world.call("GET", THINGS, accept=TABLE))
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Host", "Ready", "Age", "N"]
        assert [row["cells"][:3] for row in table["rows"]] == [["a", "a.x", None], ["b", "b.x", None]]

    tell(story)


def test_columns_seek_in_lists_and_labels() -> None:
    async def story(world: ApiWorld) -> None:
        name = "columns seek, count from the end and name keys with dots (Trainer, KServe, Kyverno, Crossplane)"
        await expect(201, await world.create(DEFINITIONS, definition(CASES[name])))
        made = thing("a", CASES[name].fits)
        labels = {"acme.example/team": "t", "acme.example/zone": "z"}
        made["metadata"]["labels"] = labels
        await expect(201, await world.create(THINGS, made))
        ready = {"status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}}
        await expect(200, await world.patch(f"{THINGS}/a/status", ready))
        table = await expect(200, await world.call("GET", THINGS, accept=TABLE))
        assert table["rows"][0]["cells"] == ["a", "next", 20, 80, "prev", "t", "z", "prev", "True"]

    tell(story)


def test_an_old_version_warns_whoever_asks_for_it() -> None:
    async def story(world: ApiWorld) -> None:
        case = CASES["an old version warns and is served beside (Cluster API, Flux)"]
        whole = definition(case)
        (old,) = whole["spec"]["versions"]
        new = {key: value for key, value in old.items() if not key.startswith("deprecat")}
        whole["spec"]["versions"] = [old | {"storage": False}, new | {"name": "v2"}]
        await expect(201, await world.create(DEFINITIONS, whole))
        made = await world.create(THINGS, thing("a", case.fits))
        assert (made.code, made.headers["warning"]) == (201, '299 - "acme.example/v1 is old"')
        read = await world.get(f"{THINGS.replace('/v1/', '/v2/')}/a")
        assert (read.body["apiVersion"], read.body["spec"]) == ("acme.example/v2", case.fits)
        assert "warning" not in read.headers

    tell(story)
