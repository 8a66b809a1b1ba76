"""YAML of requests and answers, with faults told as the Go library tells them."""

from typing import Any

import yaml
from yaml.scanner import ScannerError

from kubeapi import codec
from kubeapi.yaml_writing import render_sorted_yaml


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
        return codec.parse_first_yaml(text)
    except ValueError as error:
        raise ValueError(_said(error)) from error


def read_json(text: bytes) -> Any:
    """None for what is no JSON."""
    try:
        return codec.decode_any(text)
    except codec.DecodeError:
        return None


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
