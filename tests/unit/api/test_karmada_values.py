"""Reading of all values that Karmada 1.3 to 1.19 has stored: each can be written again, and means what it meant.

The table (`tests/karmada_values.py`) has each field's facts by version. Every value at an edge of them is put into an
object that has nothing else but what was required then.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kubeapi.codec import copy_manifest, decode, encode, to_wire
from kubeapi.meta import Manifest
from leeward.api.policy import ApplicationFailover
from leeward.api.purge_mode import OLD_WORDS, find_purge_mode
from leeward.api.schema import CUSTOM_KINDS
from leeward.api.validation import type_problem, validate_change, validate_types
from leeward.api.work import GracefulEvictionTask
from tests.karmada_values import fields_in, read_table

TABLE = read_table()
TYPES = {f"{each.resource.api_version}/{each.resource.kind}": each.resource.object_type for each in CUSTOM_KINDS}
PURGE_MODES = (".spec.failover.application.purgeMode", ".spec.gracefulEvictionTasks[].purgeMode")
INSTANTS = (
    "2024-01-02T03:04:05Z",
    "2024-01-02T03:04:05+02:00",
    "2024-01-02T03:04:05.123456789Z",
    "0001-01-01T00:00:00Z",
)
QUANTITIES = (0, 1, -5, "1", "100m", "1.5Gi", ".5", "5.", "2e3", "1E", "007")
TEXTS = ("x", "", "Foo", "a b", "é", "x" * 300)
_PART = re.compile(r"\.([^.\[{]+)|(\[\])|(\{\})")

Fields = Mapping[str, Mapping[str, Any]]


def least(fields: Fields, path: str) -> Any:
    """The smallest value of the field: objects with what they require, and nothing else."""
    facts = fields[path]
    if "enum" in facts:
        return facts["enum"][0]
    match facts.get("type"):
        case "object":
            wanted = (name for name in facts.get("required", ()) if f"{path}.{name}" in fields)
            return {name: least(fields, f"{path}.{name}") for name in wanted}
        case "array":
            return [least(fields, f"{path}[]")] if facts.get("minItems") else []
        case "string":
            return INSTANTS[0] if facts.get("format") == "date-time" else "abc"
        case "integer":
            return facts.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return "1" if facts.get("x-kubernetes-int-or-string") else {}


def values_of(fields: Fields, path: str) -> Iterator[Any]:
    """Values at the edges of what the field takes."""
    facts = fields[path]
    low, high = facts.get("minLength", 0), facts.get("maxLength", 300)
    match facts.get("type"):
        case _ if "enum" in facts:
            yield from facts["enum"]
        case _ if path in PURGE_MODES:
            yield from OLD_WORDS  # Karmada 1.6 to 1.10 took any text, and knew these words
        case "string" if "pattern" in facts:
            yield from ("a", "a" * high)
        case "string" if facts.get("format") == "date-time":
            yield from INSTANTS
        case "string" if facts.get("format") == "byte":
            yield from ("", "YWJj")
        case "string":
            yield from (text for text in (*TEXTS, "x" * high) if low <= len(text) <= high)
        case "integer":
            bits = 31 if facts.get("format") == "int32" else 63
            yield from (n for n in (0, 1, -1, 2**bits - 1, -(2**bits)) if n >= facts.get("minimum", -(2**bits)))
        case "boolean":
            yield from (True, False)
        case "array":
            yield from ([least(fields, f"{path}[]")] * count for count in (facts.get("minItems", 0), 1, 3))
        case "object":
            yield least(fields, path)
        case _:
            yield from QUANTITIES if facts.get("x-kubernetes-int-or-string") else ({},)


def parts_of(path: str) -> list[str]:
    return [name or index or key for name, index, key in _PART.findall(path)]


def with_value(fields: Fields, path: str, value: Any) -> Manifest:
    """The smallest object that has the value at the path."""
    root = {"": least(fields, "")}
    holder: Any = root
    key: Any = ""
    here = ""
    for part in parts_of(path):
        inner, here = holder[key], here + (part if part in ("[]", "{}") else f".{part}")
        holder, key = inner, 0 if part == "[]" else "k" if part == "{}" else part
        if part == "[]" and not inner:
            inner.append(None)
        if part == "[]" or key not in inner or here == path:
            inner[key] = least(fields, here)
    holder[key] = value
    return root[""]


def value_at(manifest: Any, path: str) -> Any:
    for part in parts_of(path):
        manifest = manifest[0 if part == "[]" else "k" if part == "{}" else part]
    return manifest


def stored(kind: str) -> Iterator[tuple[str, str, Any, Manifest]]:
    """Version, field, value and object, for each value of each field as it was from some version on."""
    api_version, _, name = kind.rpartition("/")
    for path, runs in TABLE[kind].items():
        for version in (run["from"] for run in runs if path):
            fields = fields_in(TABLE[kind], version)
            for value in values_of(fields, path):
                labels = {f"{name.lower()}.karmada.io/permanent-id": "1"}
                head = {"apiVersion": api_version, "kind": name, "metadata": {"name": "a", "labels": labels}}
                yield version, path, value, {**head, **with_value(fields, path, copy_manifest({"": value})[""])}


@pytest.mark.parametrize("kind", TABLE)
def test_what_a_karmada_has_stored_is_read_and_can_be_written_again(kind: str) -> None:
    seen = 0
    for version, path, value, manifest in stored(kind):
        seen += 1
        said = f"{path}={value!r} of Karmada {version}"
        decode(encode(manifest), TYPES[kind])
        assert type_problem(manifest) is None, said
        before = copy_manifest(manifest)
        assert [*validate_types(manifest, before), *validate_change(manifest, before)] == [], said
    assert seen > len(TABLE[kind])


@pytest.mark.parametrize("kind", TABLE)
def test_each_choice_that_a_karmada_has_stored_means_what_it_meant(kind: str) -> None:
    for version, path, value, manifest in stored(kind):
        if "enum" in fields_in(TABLE[kind], version)[path] or path in PURGE_MODES:
            read = value_at(to_wire(decode(encode(manifest), TYPES[kind])), path)
            assert read == OLD_WORDS.get(value, value), f"{path}={value!r} of Karmada {version}"


def test_every_purge_mode_of_the_table_is_a_mode() -> None:
    words = {
        word
        for fields in TABLE.values()
        for path, runs in fields.items()
        if path.endswith("purgeMode")
        for run in runs
        for word in (*run["facts"].get("enum", ()), run["facts"].get("default", ""))
    }
    assert words == {"", "Directly", "Gracefully", "Never", *OLD_WORDS}
    assert {OLD_WORDS.get(word) or find_purge_mode(word) for word in words} >= {"Directly", "Gracefully", "Never"}


@pytest.mark.parametrize(("old", "today"), [("Graciously", "Gracefully"), ("Immediately", "Directly")])
def test_an_old_word_is_read_as_the_word_of_today_and_never_written(old: str, today: str) -> None:
    application = decode(encode({"decisionConditions": {}, "purgeMode": old}), ApplicationFailover)
    task = decode(encode({"fromCluster": "a", "reason": "R", "producer": "P", "purgeMode": old}), GracefulEvictionTask)
    assert (application.purge_mode, task.purge_mode) == (today, today)
    assert to_wire(application)["purgeMode"] == to_wire(task)["purgeMode"] == today
