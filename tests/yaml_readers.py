"""Readers of YAML 1.2 that are not ours: ruamel.yaml in Python, and yaml12, in Rust."""

from collections.abc import Callable
from typing import Any

import yaml12
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor


class _Constructor(SafeConstructor):
    """Reads `=`, which has a type of its own in YAML 1.1, as the text that it is in YAML 1.2."""


def _as_text(_: Any, node: Any) -> str:
    return node.value


_constructor: Any = _Constructor
_constructor.add_constructor("tag:yaml.org,2002:value", _as_text)


def read_by_ruamel(text: str) -> Any:
    reader: Any = YAML(typ="safe", pure=True)
    reader.Constructor = _Constructor
    return reader.load(text)


def read_by_yaml12(text: str) -> Any:
    read: Any = yaml12.parse_yaml
    return read(text)


READERS: dict[str, Callable[[str], Any]] = {"ruamel": read_by_ruamel, "yaml12": read_by_yaml12}
