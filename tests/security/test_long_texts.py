"""Long texts in values: each is read in a time that grows with its length, and what refuses it quotes a part.

    has            the right to write one object with a text as large as the server takes
    does           writes a quantity, or a field with a format, that nearly is one, or a value that nobody takes
    must not get   a loop that stands still for hours, or its megabyte again in answers, logs, events and conditions

Holds: L4.
"""

import subprocess
import sys

import pytest

from kubeapi.codec import encode
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Problem
from kubeserver.errors import MAX_CAUSE, MAX_CAUSES, MAX_MESSAGE
from leeward.api.meta import MOST_MESSAGE
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.sim.world import World
from leeward.webhook.reviews import judge
from tests.kubeserver.api_world import CONFIG_MAPS, WIDGETS, ApiWorld, config_map, tell, widget
from tests.security.largest_objects import with_field
from tests.security.worlds import define, play_in

READ = """
from contextlib import suppress
from kubeapi.quantity import canonical_quantity
from kubeserver.apiextensions import formats

parts = ("0", "1", "1 ", "a", "a.", "a b ", "(", '"', "1:", "1h", "1.1h", "%41", "a-")
for part in parts:
    for end in ("", "x", "!", " ,"):
        text = part * (200_000 // len(part)) + end
        with suppress(ValueError):
            canonical_quantity(text)
        for name in formats._FORMATS:
            formats.has_format(text, name)
"""
"""A square of these lengths is minutes; their sum is some seconds."""


@pytest.mark.long
def test_l4_no_text_takes_the_square_of_its_length() -> None:
    subprocess.run([sys.executable, "-c", READ], check=True, timeout=120)


LONG = "x" * 1_000_000
ABSURD: list[tuple[str, Manifest, str]] = [
    (CONFIG_MAPS, config_map("a") | {"metadata": {"name": LONG}}, "must be no more than 253"),
    (CONFIG_MAPS, config_map("a") | {"metadata": {"name": "a", "labels": {LONG: "b"}}}, "Invalid value"),
    (CONFIG_MAPS, config_map("a") | {"metadata": {"name": "a", "labels": {"b": LONG}}}, "must be no more than 63"),
    (CONFIG_MAPS, config_map("a") | {"data": {LONG: "b"}}, "must be no more than 253"),
    (CONFIG_MAPS, {"apiVersion": LONG, "kind": "ConfigMap", "metadata": {"name": "a"}}, "ConfigMap"),
    (CONFIG_MAPS, {"apiVersion": "v1", "kind": LONG, "metadata": {"name": "a"}}, "is registered for version"),
    (WIDGETS, widget("a", kind=LONG), "spec.kind"),
    (WIDGETS, widget("a", at=LONG), "spec.at"),
    (WIDGETS, widget("a", letter=LONG), "spec.letter"),
    (WIDGETS, widget("a", free={LONG: 1}), "spec.free"),
    (WIDGETS, widget("a", kinds=["b"] * 50_000), "spec.kinds"),
]
FIELDS: Manifest = {
    "kind": {"type": "string", "enum": ["a"]},
    "kinds": {"type": "array", "items": {"type": "string", "enum": ["a"]}},
    "at": {"type": "string", "format": "date-time"},
    "letter": {"type": "string", "pattern": "^a$"},
    "free": {"type": "object", "additionalProperties": {"type": "string"}},
}


@pytest.mark.parametrize(("path", "manifest", "said"), ABSURD, ids=range(len(ABSURD)))
def test_l4_a_refusal_quotes_the_beginning_of_a_value_and_says_what_is_wrong(
    path: str, manifest: Manifest, said: str
) -> None:
    async def story(world: ApiWorld) -> None:
        await define(world, FIELDS)
        refused = await world.create(path, manifest)
        assert refused.code in (400, 422)
        assert said in refused.body["message"]
        assert len(refused.body["message"]) <= MAX_MESSAGE
        causes = refused.body.get("details", {}).get("causes", [])
        assert len(causes) <= MAX_CAUSES
        assert all(len(cause["message"]) <= MAX_CAUSE for cause in causes)
        assert len(encode(refused.body)) < 4 * MAX_MESSAGE

    tell(story)


def test_l4_a_webhook_refuses_in_few_words() -> None:
    taints = [{"key": f"{number}!{LONG[:1000]}", "effect": "NoSchedule"} for number in range(1_000)]
    cluster = {
        "apiVersion": CLUSTERS.api_version,
        "kind": "Cluster",
        "metadata": {"name": LONG},
        "spec": {"apiEndpoint": LONG, "proxyURL": LONG, "taints": taints},
    }
    answer = judge({"operation": "CREATE", "resource": {"resource": "clusters"}, "object": cluster})
    assert answer["allowed"] is False
    assert len(answer["status"]["message"]) < MAX_MESSAGE


def test_values_that_differ_behind_what_is_quoted_are_different_problems() -> None:
    """A stored fault may stay, another one is new."""
    one, other = (Problem.invalid("a", LONG + end, "is none") for end in "ab")
    assert one != other
    assert one == Problem.invalid("a", LONG + "a", "is none")
    assert len(str(one)) < 400
    assert "(1000001 characters)" in str(one)


@pytest.mark.long
def test_l4_a_work_with_thousands_of_failures_says_so() -> None:
    """Tells of manifests that all fail; the condition names those that it has room for."""

    async def story(world: World) -> None:
        works: Resource[Manifest] = Resource.of_manifests(WORKS.api_version, "works", "Work", True)
        space = execution_space("member1")
        work = with_field(WORKS, ".spec.workload.manifests", 1_000)
        for manifest in work["spec"]["workload"]["manifests"]:
            await world.member("member1").client.create(
                Resource.of_manifests("v1", "configmaps", "ConfigMap", True), manifest, "default"
            )
        await world.client.create(works, work, space)
        await world.sleep(30)
        applied = (await world.client.get(WORKS, "large", space)).applied
        assert applied is not None
        assert applied.message.startswith(
            "Failed to apply all manifests: ConfigMap default/made0: it exists in cluster"
        )
        assert len(applied.message) == MOST_MESSAGE

    play_in(World, story, {"member1": "Push"})
