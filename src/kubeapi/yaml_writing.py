"""YAML as Kubernetes writes it: keys in order, several lines as such, in double quotes what would not be read as text.

YAML 1.1 reads a plain `y` or `n` as a boolean, too.
"""

import re
from typing import Any

import yaml

SHORT_BOOLEAN = re.compile(r"^[yYnN]$")


def render_sorted_yaml(value: Any) -> str:
    """One document of plain JSON values."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=1 << 16)


def render_yaml_document(value: Any) -> str:
    """Renders the value with its keys in the order that they have."""
    return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False)


class _Dumper(yaml.CSafeDumper):
    """Quotes with double quotes where quotes are needed, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    node = yaml.CSafeDumper.represent_str(dumper, text)
    resolved = dumper.resolve(yaml.ScalarNode, text, (True, False))  # pyright: ignore
    if resolved != "tag:yaml.org,2002:str" or SHORT_BOOLEAN.fullmatch(text):
        node.style = '"'
    elif "\n" in text:
        node.style = "|"
    return node


_Dumper.add_representer(str, _represent_text)
