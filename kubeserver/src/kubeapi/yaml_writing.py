"""YAML as Kubernetes writes it: keys in order, several lines as such, in double quotes what would not be read as text.

Text is quoted where any reader would take it for something else (`yaml_scalars.py`): those of Kubernetes, and others
that know YAML 1.1 or 1.2.
"""

import json
from collections.abc import Iterable
from typing import Any

import yaml

from kubeapi.yaml_scalars import STR, is_text

_BREAKS = ("\r", "\x85", "\u2028", "\u2029", "\ufeff")
"""Characters that end a line to some readers, and not to others."""


NEVER_FOLDED = 1 << 30
"""Width of lines; the writer's own is 80 characters."""


def render_sorted_yaml(value: Any) -> str:
    """One document of plain JSON values."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=NEVER_FOLDED)


def render_yaml_document(value: Any) -> str:
    """Renders the value with its keys in the order that they have, in ASCII: it is shown on terminals, where no part of
    a text may look like a line of the document. Nothing is folded, as kubectl folds nothing."""
    return yaml.dump(value, Dumper=_TerminalDumper, sort_keys=False, width=NEVER_FOLDED)


def render_inline_yaml(value: Any) -> str:
    """Renders the value for one line of a document, its lists and mappings in brackets."""
    written = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=NEVER_FOLDED, default_flow_style=True)
    line = written.removesuffix("...\n").removesuffix("\n")
    return json.dumps(value, ensure_ascii=False) if "\n" in line else line


def render_yaml_stream(values: Iterable[Any], width: int) -> str:
    """Renders documents one after the other, with keys in the order that they have and long texts folded."""
    return yaml.dump_all(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width)


class _Dumper(yaml.CSafeDumper):
    """Quotes with double quotes where quotes are needed, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _TerminalDumper(_Dumper):
    """Writes no text as a block."""


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    node = yaml.CSafeDumper.represent_str(dumper, text)
    breaks = not text.isprintable() and any(each in text for each in _BREAKS)
    if not is_text(text) or breaks or not text.strip() or text.endswith(" -"):
        node.style = '"'
    elif "\n" in text:
        node.style = "|"
    elif dumper.resolve(yaml.ScalarNode, text, (True, False)) != STR:  # pyright: ignore
        node.style = '"'
    return node


def _represent_text_in_one_line(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    node = _represent_text(dumper, text)
    if node.style == "|":
        node.style = '"'
    return node


_Dumper.add_representer(str, _represent_text)
_TerminalDumper.add_representer(str, _represent_text_in_one_line)
