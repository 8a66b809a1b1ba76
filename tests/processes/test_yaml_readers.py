"""YAML that we write, read by the real kubectl: the same document as ours."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubeapi import codec
from kubeapi.yaml_writing import render_sorted_yaml
from leeward.api.override import FieldPatchOperation
from leeward.core.overrides.effort import Effort
from leeward.core.overrides.embedded import patched_yaml
from leeward.core.overrides.rendering import completed
from tests.kubectl import needs_kubectl, run_command

WORDS = [json.loads(line)[0] for line in Path("tests/data/yaml/words.jsonl").read_text().splitlines()]

pytestmark = [pytest.mark.processes, needs_kubectl]


def read_by_kubectl(text: str, folder: Path) -> dict[str, Any]:
    file = folder / "config-map.yaml"
    file.write_text(text)
    said = run_command(["kubectl", "patch", "--local", "--type=merge", "-p", "{}", "-o", "json", "-f", str(file)])
    return json.loads(said)


@pytest.mark.parametrize("render", [render_sorted_yaml, codec.render_yaml])
def test_every_text_that_we_write_is_that_text_to_kubectl(render: Callable[[Any], str], tmp_path: Path) -> None:
    """A ConfigMap has texts alone: kubectl refuses it where one is written so that it reads a number."""
    data = {**{f"value-{index}": word for index, word in enumerate(WORDS)}, **dict.fromkeys(WORDS, "key")}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": data}
    assert read_by_kubectl(render(manifest), tmp_path)["data"] == data


def test_a_text_that_an_override_has_passed_over_is_that_text_to_kubectl(tmp_path: Path) -> None:
    for data in ('\n  commit: "12345e7"\n  zip: "08"\n  region: eu\n', ' {commit: "12345e7", zip: "08", region: eu}\n'):
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata:{data}"
        operations = (
            FieldPatchOperation(sub_path="/data/region", operator="replace", value="us"),
            FieldPatchOperation(sub_path="/data/more", operator="add", value="1e3"),
        )
        read = read_by_kubectl(completed(patched_yaml(text, [*enumerate(operations)], Effort())), tmp_path)
        assert read["data"] == {"commit": "12345e7", "zip": "08", "region": "us", "more": "1e3"}
