"""Parts of a version beside its schema: printer columns, subresources, and fields that can be selected by."""

from kubeapi.field import Node, Problems
from kubeapi.jsonpath import compile_path
from kubeapi.status import Problem
from kubeserver.apiextensions.definition_rules.field_paths import field_at

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE = ("string", "boolean", "integer")
MOST_SELECTABLE_FIELDS = 8


def column_problems(columns: Node) -> Problems:
    for column in columns.items():
        kind, shape, path = column["type"], column["format"], column["jsonPath"]
        where = f"{column.path}.JSONPath"
        types = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column["name"].text:
            yield column["name"].required("")
        if not kind.text:
            yield kind.required(types)
        elif kind.text not in _COLUMN_TYPES:
            yield kind.invalid(types)
        if shape.text and shape.text not in _COLUMN_FORMATS:
            yield shape.invalid(f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not path.text:
            yield Problem.required(where)
        elif not path.text.startswith("."):
            yield Problem.invalid(where, path.text, "must be a simple json path starting with .")
        else:
            yield from _unreadable(path.text, where)


def _unreadable(path: str, where: str) -> Problems:
    """A path that nothing can be found by would leave the column empty; it is refused."""
    try:
        compile_path(path)
    except ValueError as error:
        yield Problem.invalid(where, path, str(error))


def subresource_problems(subresources: Node) -> Problems:
    scale = subresources["scale"]
    if not scale.is_set:
        return
    for name, part in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        yield from _path_problems(scale[name], f".{part}.", said=f"should be a json path under .{part}")
    if scale["labelSelectorPath"].text:
        said = "should be a json path under either .spec or .status"
        yield from _path_problems(scale["labelSelectorPath"], ".spec.", ".status.", said=said)


def _path_problems(path: Node, *beginnings: str, said: str) -> Problems:
    if not path.text:
        yield path.required("")
    elif not path.text.startswith("."):
        yield path.invalid("must be a simple json path starting with .")
    elif not path.text.startswith(beginnings):
        yield path.invalid(said)


def selectable_problems(fields: Node, schema: Node) -> Problems:
    seen: set[str] = set()
    for field in fields.items():
        path = field["jsonPath"]
        if not path.text:
            yield path.required("")
            continue
        found = field_at(schema, path.text)
        if found is None:
            yield path.invalid("is an invalid path: does not refer to a valid field")
            continue
        if path.text.startswith(".metadata"):
            yield path.invalid("must not point to fields in metadata")
        if found["type"].text not in _SELECTABLE:
            yield path.invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with "
                "formats are allowed."
            )
        if path.text in seen:
            yield path.duplicate(f'"{path.text}"')
        seen.add(path.text)
    if len(seen) > MOST_SELECTABLE_FIELDS:
        said = f"Too many: {len(seen)}: must have at most {MOST_SELECTABLE_FIELDS} items"
        yield Problem(fields.path, "FieldValueTooMany", said)
