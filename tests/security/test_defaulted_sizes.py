"""Defaults and owners make an object several times as large: it is refused before anything goes through all of it.

    has            the right to write one object
    does           writes tens of thousands of containers or volumes, each of which gets defaults and owners
    must not get   a server that checks ten times the fields that a body may have

Holds: L4.
"""

from typing import Any
from unittest import mock

import pytest

from kubeapi.meta import Manifest
from kubeserver.registry import managing, writing
from tests.kubeserver.api_world import ApiWorld, tell
from tests.world.stories import deployment

PATH = "/apis/apps/v1/namespaces/default/deployments"
CONTAINERS = [{"name": f"c{number}", "image": "i"} for number in range(20_000)]
VOLUMES = [{"name": f"v{number}", "configMap": {"name": f"c{number}"}} for number in range(12_000)]


def large(name: str, **pod: Any) -> Manifest:
    made = deployment(name, 1)
    made["spec"]["template"]["spec"].update(pod)
    return made


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("pod", "unreached"),
    [
        ({"containers": CONTAINERS}, (managing, "updating")),
        ({"volumes": VOLUMES}, (writing, "validate_metadata")),
    ],
    ids=["defaults", "owners"],
)
def test_l4_what_grows_beyond_its_bound_is_refused_at_once(
    pod: Manifest, unreached: tuple[Any, str], *, is_new: bool
) -> None:
    async def story(world: ApiWorld) -> None:
        if not is_new:
            assert (await world.create(PATH, large("web"))).code == 201
        with mock.patch.object(*unreached) as looked:
            asked = (
                world.create(PATH, large("web", **pod)) if is_new else world.update(f"{PATH}/web", large("web", **pod))
            )
            refused = await asked
        assert (refused.code, "the object would be" in refused.body["message"]) == (413, True)
        assert looked.mock_calls == []

    tell(story)
