"""YAML documents with the lines on which their fields stand, for whoever tells people where something is wrong.

Bounded like all YAML of users (`yaml_reading.py`). JSON is YAML, and is read, too.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from kubeapi.yaml_reading import YamlLoader, check_size, json_as_yaml, members_of

FieldPath = Sequence[str | int]


class YamlFault(ValueError):
    """Text that is no YAML. `line` counts from 1; 0 where it is not known."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.line = line


class LocatedDocument:
    """One document: its `value`, and where each field of it stands."""

    def __init__(self, value: Any, node: yaml.Node) -> None:
        self.value = value
        self._node = node

    def line_of(self, path: FieldPath = ()) -> int:
        """The line of the field, counting from 1; where there is no such field, of the last part of the path that is.

        Of a member of a mapping that is the line of its key.
        """
        node, line = self._node, self._node.start_mark.line
        for step in path:
            found = _member(node, step)
            if found is None:
                break
            line, node = found
        return line + 1

    def part(self, path: FieldPath) -> "LocatedDocument | None":
        """Part at the path as a document of its own, as an item of a List is; None where nothing is."""
        node, value = self._node, self.value
        for step in path:
            found = _member(node, step)
            if found is None:
                return None
            node, value = found[1], value[step]
        return LocatedDocument(value, node)


def parse_located_yaml(text: str | bytes) -> Iterator[LocatedDocument]:
    """The documents of a stream; empty ones are skipped. Raises: YamlFault where it is no YAML or breaks a limit."""
    text = json_as_yaml(text)
    try:
        check_size(text)
    except yaml.YAMLError as error:
        raise _fault(error) from error
    except ValueError as error:
        raise YamlFault(str(error)) from error
    loader: Any = YamlLoader(text)
    try:
        while loader.check_node():
            node: yaml.Node = loader.get_node()
            value = loader.construct_document(node)
            if value is not None:
                yield LocatedDocument(value, node)
    except yaml.YAMLError as error:
        raise _fault(error) from error
    except (ValueError, TypeError) as error:
        raise YamlFault(str(error)) from error
    finally:
        loader.dispose()


def _member(node: yaml.Node, step: str | int) -> tuple[int, yaml.Node] | None:
    """The line and the node of a member; the last of several with the same key, as it is read."""
    if isinstance(node, yaml.MappingNode):
        found = [(key.start_mark.line, value) for name, key, value in members_of(node) if name == step]
        return found[-1] if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step].start_mark.line, node.value[step]
    return None


def _fault(error: yaml.YAMLError) -> YamlFault:
    """Fault of the text, told on one line."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    said = " ".join(str(problem).split())
    return YamlFault(f"not valid YAML: {said}", 0 if mark is None else mark.line + 1)
