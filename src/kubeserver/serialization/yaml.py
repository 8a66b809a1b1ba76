"""YAML as Kubernetes reads and writes it: version 1.1, where `y` and `n` are booleans, and keys in order."""

import re
from typing import Any

import yaml
from yaml.scanner import ScannerError

from kubeapi import codec
from kubeapi.yaml_reading import YamlLoader
from kubeapi.yaml_writing import SHORT_BOOLEAN, render_sorted_yaml


def dump_yaml(value: Any) -> bytes:
    """One document, keys sorted."""
    return render_sorted_yaml(codec.to_wire(value)).encode()


def load_yaml(text: bytes) -> Any:
    """The first document of the text. Raises: ValueError with the line that is wrong.

    JSON is YAML, too, and most of what comes as YAML: it is read as what it is, a hundred times as fast.
    """
    if text[:1] == b"{" and (document := read_json(text)) is not None:
        return document
    try:
        document = codec.parse_first_yaml(text)
    except ValueError as error:
        raise ValueError(_said(error)) from error
    return _with_short_booleans(document, text)


def read_json(text: bytes) -> Any:
    """None for what is no JSON."""
    try:
        return codec.decode_any(text)
    except codec.DecodeError:
        return None


def _with_short_booleans(value: Any, text: bytes) -> Any:
    """Value with booleans where a plain `y` or `n` was written."""
    if not re.search(rb"[:\-,\[]\s*[yYnN]\s*([,}\]#\n]|$)", text):
        return value
    return next(iter(yaml.load_all(text, Loader=_Loader)), None)


class _Loader(YamlLoader):
    """Loader with the short booleans."""


_Loader.yaml_implicit_resolvers = {
    **_Loader.yaml_implicit_resolvers,
    **{
        letter: [("tag:yaml.org,2002:bool", SHORT_BOOLEAN), *_Loader.yaml_implicit_resolvers.get(letter, [])]
        for letter in "yYnN"
    },
}
_Loader.bool_values = {**_Loader.bool_values, "y": True, "n": False}


def _said(error: ValueError) -> str:
    """The first fault, with its line, as the Go library says it."""
    cause = error.__cause__
    if not isinstance(cause, yaml.MarkedYAMLError):
        return f"yaml: {error}"
    mark = cause.problem_mark
    line = mark.line + isinstance(cause, ScannerError) if mark is not None and mark.line else 0
    if not line and cause.context_mark is not None:
        line = cause.context_mark.line
    return f"yaml: line {line}: {cause.problem}" if line else f"yaml: {cause.problem}"
