"""Readers of YAML 1.2 that are not ours: ruamel.yaml in Python, and yaml12, in Rust."""

from collections.abc import Callable
from typing import Any

import yaml12
from ruamel.yaml import YAML


def read_by_ruamel(text: str) -> Any:
    reader: Any = YAML(typ="safe", pure=True)
    return reader.load(text)


def read_by_yaml12(text: str) -> Any:
    read: Any = yaml12.parse_yaml
    return read(text)


READERS: dict[str, Callable[[str], Any]] = {"ruamel": read_by_ruamel, "yaml12": read_by_yaml12}
