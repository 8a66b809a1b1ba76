"""Bytes that were sent in several lines are read, and kept in one."""

import base64
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.cel import compile_program
from tests.kubeserver.api_world import CONFIG_MAPS, DEFINITIONS, WIDGETS, ApiWorld, tell, widget, widgets

SECRETS = "/api/v1/namespaces/default/secrets"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
DATA = bytes(range(200))
WRAPPED, ONE_LINE = base64.encodebytes(DATA).decode(), base64.b64encode(DATA).decode()
YAML = f"""
apiVersion: v1
kind: Secret
metadata: {{name: yaml}}
data:
  ca.crt: |
    {WRAPPED.rstrip().replace(chr(10), chr(10) + "    ")}
"""


def secret(name: str, **fields: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **fields}


def test_a_secret_is_made_of_wrapped_text_however_it_is_sent() -> None:
    async def story(world: ApiWorld) -> None:
        sent = await world.call("POST", SECRETS, YAML.encode(), content_type="application/yaml")
        assert (sent.code, sent.body["data"]["ca.crt"]) == (201, ONE_LINE)
        applied = await world.patch(
            f"{SECRETS}/applied", secret("applied", data={"a": WRAPPED}), APPLY, fieldManager="me"
        )
        assert (applied.code, applied.body["data"]["a"]) == (201, ONE_LINE)
        again = await world.patch(
            f"{SECRETS}/applied", secret("applied", data={"a": WRAPPED}), APPLY, fieldManager="me"
        )
        assert (again.code, again.version) == (200, applied.version)
        conflict = secret("applied", data={"a": ONE_LINE})
        assert (await world.patch(f"{SECRETS}/applied", conflict, APPLY, fieldManager="you")).code == 200
        path = f"{SECRETS}/yaml"
        for body, content_type in (
            ({"data": {"b": WRAPPED}}, "application/merge-patch+json"),
            ({"data": {"c": WRAPPED}}, STRATEGIC),
            ([{"op": "add", "path": "/data/d", "value": WRAPPED}], JSON_PATCH),
        ):
            assert (await world.patch(path, body, content_type)).code == 200
        updated = await world.update(path, secret("yaml", data={**(await world.get(path)).body["data"], "e": WRAPPED}))
        assert updated.body["data"] == dict.fromkeys(("ca.crt", "b", "c", "d", "e"), ONE_LINE)

    tell(story)


def test_bytes_of_other_kinds_are_read_in_the_same_way() -> None:
    async def story(world: ApiWorld) -> None:
        made: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        answer = await world.create(CONFIG_MAPS, {**made, "binaryData": {"a": WRAPPED}})
        assert (answer.code, answer.body["binaryData"]["a"]) == (201, ONE_LINE)
        answer = await world.create(CONFIG_MAPS, {**made, "data": {"a": WRAPPED}, "metadata": {"name": "b"}})
        assert answer.body["data"]["a"] == WRAPPED

    tell(story)


def test_what_is_no_base64_is_still_refused_with_its_place() -> None:
    async def story(world: ApiWorld) -> None:
        refused = await world.create(SECRETS, secret("a", data={"a": "YWJj\nY?=="}))
        assert (refused.code, "illegal base64 data at input byte 6" in refused.body["message"]) == (400, True)

    tell(story)


@pytest.mark.parametrize(("text", "code"), [(ONE_LINE, 201), (WRAPPED, 422)])
def test_a_string_of_a_custom_kind_is_no_bytes_and_stays_in_one_line(text: str, code: int) -> None:
    """Kubernetes: kube-openapi/pkg/validation/strfmt; the format `byte` takes no line ends there."""

    async def story(world: ApiWorld) -> None:
        definition = widgets()
        for version in definition["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            spec["properties"]["data"] = {"type": "string", "format": "byte"}
        await world.create(DEFINITIONS, definition)
        assert (await world.create(WIDGETS, widget("a", size=1, data=text))).code == code
        program = compile_program("format.byte().validate(self).hasValue()")
        assert program.evaluate({"self": text, "oldSelf": None}) is (code == 422)

    tell(story)
