"""Annotations that decisions read, as long as the API server takes them: lists, maps, numbers, names, or nested.

    has            the right to write one kind of object in one namespace, or an object in a member
    does           writes each annotation that Leeward reads, with a quarter of a megabyte of each form
    must not get   a piece of work of more than a quarter of a second, an answer of 500, or a task that dies

Every annotation of `leeward.api` is written to objects of its own; a new one is played by itself. Holds: L4.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

import pytest

from kubeapi.codec import encode
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Invalid
from leeward.api import moves_with, names, ordinals, rollout
from leeward.api.names import DEPENDENCIES_ANNOTATION, execution_space
from leeward.api.resource import CLUSTERS, PROPAGATION_POLICIES, RESOURCE_BINDINGS, WORKS
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.security.pieces import MOST_STEPS, Pieces, recorded
from tests.world.stories import DEPLOYMENTS, apply, deployment, play, policy
from tests.world.test_dashboard import Page
from tests.world.test_overrides import BOTH

TWO: Final = ("member1", "member2")
SIZE: Final = 250_000
READ: Final = sorted(
    {
        value
        for module in (names, ordinals, rollout, moves_with)
        for name, value in vars(module).items()
        if name.endswith("_ANNOTATION")
    }
)
REFERENCE: Final = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default"}
FORMS: Final[Mapping[str, str]] = {
    "nested": "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "unclosed": '{"a":' * (SIZE // 5),
    "a number": "9" * SIZE,
    "durations": "1h" * (SIZE // 2),
    "words": ",".join(f"Deployment/app{number}" for number in range(SIZE // 21)),
    "pairs": ",".join(f"a{number}=1" for number in range(SIZE // 10)),
    "texts": encode([f"k{number}" for number in range(SIZE // 9)]).decode(),
    "numbers": encode([*range(SIZE // 7)]).decode(),
    "map": encode({f"k{number}": "v" for number in range(SIZE // 13)}).decode(),
    "maps": encode({f"m{number}": {"a": 1} for number in range(SIZE // 18)}).decode(),
    "references": encode([{**REFERENCE, "name": f"c{number}"} for number in range(SIZE // 75)]).decode(),
}


def raw(kind: Resource[Any]) -> Resource[Manifest]:
    return Resource.of_manifests(kind.api_version, kind.plural, kind.kind, kind.namespaced)


WRITTEN: Final = {
    "template": (DEPLOYMENTS, "default"),
    "copy": (DEPLOYMENTS, "default"),
    "binding": (raw(RESOURCE_BINDINGS), "default"),
    "work": (raw(WORKS), execution_space("member1")),
    "policy": (raw(PROPAGATION_POLICIES), "default"),
}
SORTS: Final = ("nested", "a number", "pairs", "map")
"""A form of each sort: for what is read by fewer readers than a template."""
TEMPLATES_AT_ONCE: Final = 2
"""Forms of one test: what a template has is rendered, written and reported once more."""


def played() -> list[tuple[str, list[str]]]:
    forms = [*FORMS]
    parts = [forms[at : at + TEMPLATES_AT_ONCE] for at in range(0, len(forms), TEMPLATES_AT_ONCE)]
    return [*(("template", part) for part in parts), *((what, [*SORTS]) for what in WRITTEN if what != "template")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("what", "forms"), played(), ids=lambda each: each if isinstance(each, str) else "+".join(each)
)
def test_l4_no_annotation_stops_the_loop(what: str, forms: list[str], caplog: pytest.LogCaptureFixture) -> None:
    long = dict[str, str]()

    async def story(pieces: Pieces) -> None:
        async with World(dict.fromkeys(TWO, "Push"), Timing.karmada()) as world, Supervisor("page") as supervisor:
            await world.until(lambda: all(world.is_ready(name) for name in TWO), 60)
            for number, _ in enumerate(READ):
                await apply(world.client, deployment(f"app{number}", 1), policy(f"app{number}", BOTH))
            await world.sleep(60)
            page = Page(world, supervisor)
            for form in forms:
                pieces.begin()
                await write_all(world, what, FORMS[form], page)
                if pieces.longest > MOST_STEPS:
                    long[form] = f"{pieces.longest} steps at {pieces.where}"

    with recorded() as pieces, caplog.at_level(logging.ERROR):
        run_virtual(story(pieces))
    assert long == {}
    assert [record.getMessage() for record in caplog.records] == []


async def write_all(world: World, what: str, text: str, page: Page) -> None:
    """Writes each annotation to an object of its own, looks at them, and takes them off."""
    kind, space = WRITTEN[what]
    client = world.member("member1").client if what == "copy" else world.client
    objects = [found["metadata"]["name"] for found in (await client.list(kind, space)).items]
    assert len(objects) >= len(READ)
    refused = 0
    for name, key in zip(objects, READ, strict=False):
        try:
            await client.patch(kind, name, {"metadata": {"annotations": {key: text}}}, space)
        except Invalid:
            refused += 1
    assert refused < len(READ) / 2
    await page.told(world, 10)
    await world.sleep(40)
    for name, key in zip(objects, READ, strict=False):
        await client.patch(kind, name, {"metadata": {"annotations": {key: None}}}, space)
    await world.sleep(20)


@pytest.mark.long
def test_l4_no_annotation_of_a_cluster_stops_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    long = dict[str, str]()

    async def story(pieces: Pieces) -> None:
        async with World(dict.fromkeys(TWO, "Push"), Timing.karmada()) as world:
            await world.until(lambda: all(world.is_ready(name) for name in TWO), 60)
            await apply(world.client, deployment("web", 2), policy("web", BOTH))
            for form in SORTS:
                text = FORMS[form]
                pieces.begin()
                for key in READ:
                    await world.client.patch(raw(CLUSTERS), "member2", {"metadata": {"annotations": {key: text}}})
                    await world.sleep(3)
                    await world.client.patch(raw(CLUSTERS), "member2", {"metadata": {"annotations": {key: None}}})
                if pieces.longest > MOST_STEPS:
                    long[form] = f"{pieces.longest} steps at {pieces.where}"

    with recorded() as pieces, caplog.at_level(logging.ERROR):
        run_virtual(story(pieces))
    assert long == {}
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("form", ["nested", "unclosed"])
def test_l4_dependencies_that_are_nested_too_deeply_are_refused_by_their_name(form: str) -> None:
    """Fault of the binding, and no error of the control plane (500)."""

    async def story(world: World) -> None:
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"}
        metadata = {"name": "deep", "annotations": {DEPENDENCIES_ANNOTATION: FORMS[form]}}
        made = {"metadata": metadata, "spec": {"resource": resource}}
        with pytest.raises(Invalid, match=r"resourcebinding\.karmada\.io/dependencies.*nested too deeply"):
            await world.client.create(raw(RESOURCE_BINDINGS), made, "default")

    play(story, {"member1": "Push"})
