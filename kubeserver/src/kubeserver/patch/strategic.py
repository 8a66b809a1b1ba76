"""Strategic merge patch: a merge patch that knows which lists are merged by key, and that takes directives.

| in a patch | means |
|---|---|
| `$patch: replace` in a mapping | it takes the place of the old one; in an element of a list: the list does |
| `$patch: delete` in a mapping | it is emptied; in an element of a list: the element with its key goes |
| `$retainKeys: [..]` in a mapping | every other field of the old one goes first |
| `$deleteFromPrimitiveList/<field>: [..]` | these values leave the list of plain values |
| `$setElementOrder/<field>: [..]` | the order of the elements that are named; others keep their place among them |

Kubernetes: apimachinery's `strategicpatch`; the same results, checked against kubectl's own.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from kubeapi.diff import is_one_of
from kubeserver.patch.merge_keys import Keyed, Replaced, Rule, Schema, ValueSet, schema_of

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList/"
ORDER_OF = "$setElementOrder/"

Object = dict[str, Any]
Identity = Callable[[Any], Any]


class Unmergeable(ValueError):
    """An element cannot be merged, for a reason that kube-apiserver takes for its own fault (500)."""


def apply(target: Mapping[str, Any], patch: Any, api_version: str, kind: str) -> Object:
    """`target`, an object of this built-in kind, with `patch` merged into it. Raises: ValueError with the path."""
    try:
        return _merge_mapping(target, _mapping(patch, "patch"), schema_of(api_version, kind), "")
    except RecursionError as error:
        raise ValueError("the patch is nested too deeply") from error


def _merge_mapping(target: Mapping[str, Any], patch: Object, schema: Schema, path: str) -> Object:
    if DIRECTIVE in patch:
        replaces = _directive(patch, path or "patch") == "replace"
        return {field: value for field, value in patch.items() if replaces and field != DIRECTIVE}
    merged = _retained(target, patch, path)
    _delete_values(merged, patch, path)
    for field, value in patch.items():
        if not field.startswith("$"):
            rule = schema.get(field)
            _merge_field(merged, field, value, rule, _order(patch, field, rule, path), _at(path, field))
    _reorder_untouched(merged, patch, schema, path)
    return merged


def _merge_field(merged: Object, field: str, value: Any, rule: Rule | None, order: list[Any], path: str) -> None:
    if value is None:
        merged.pop(field, None)
    else:
        merged[field] = _merge_value(merged.get(field), value, rule, order, path)


def _merge_value(old: Any, new: Any, rule: Rule | None, order: list[Any], path: str) -> Any:
    match rule:
        case Keyed() if isinstance(new, list):
            return _merge_keyed(_list_or_empty(old), cast(list[Any], new), rule, order, path)
        case ValueSet() if isinstance(new, list):
            return _merge_values(_list_or_empty(old), cast(list[Any], new), order, path)
        case Replaced():
            return new
        case _ if isinstance(new, dict):
            base = cast(Object, old) if isinstance(old, dict) else {}
            return _merge_mapping(base, cast(Object, new), _schema_in(rule), path)
        case _ if isinstance(new, list):
            return [item for item in cast(list[Any], new) if not _is_directive(item)]
        case _:
            return new


def _schema_in(rule: Rule | None) -> Schema:
    """Schema of a mapping that the rule is about; nothing is known of one that stands where a list belongs."""
    return {} if rule is None or isinstance(rule, Keyed | ValueSet | Replaced) else rule


def _merge_keyed(old: list[Any], new: list[Any], rule: Keyed, order: list[Any], path: str) -> list[Any]:
    """Elements with the same key are merged, `$patch: delete` takes one out, `$patch: replace` drops all old ones."""
    changes = [_mapping(item, f"{path}[{index}]") for index, item in enumerate(new)]
    plain = [item for item in changes if DIRECTIVE not in item]
    directives = [item for item in changes if DIRECTIVE in item]
    if any(_directive(item, path) == "replace" for item in directives):
        return [_merge_mapping({}, item, rule.items, path) for item in plain]
    deleted = {_key_of(item, rule, path) for item in directives}
    merged = [item for item in old if _identity(rule)(item) not in deleted]
    places = {_identity(rule)(item): index for index, item in reversed(list(enumerate(merged)))}
    for item in plain:
        _merge_element(merged, places, item, rule, path)
    return _in_order(merged, [_key_of(item, rule, path) for item in plain], order, old, _identity(rule), path)


def _merge_element(merged: list[Any], places: dict[Any, int], item: Object, rule: Keyed, path: str) -> None:
    """`places` says where in `merged` an element with a key is found first."""
    key = _key_of(item, rule, path)
    where = f"{path}[{rule.key}={key}]"
    if key in places:
        merged[places[key]] = _merge_mapping(merged[places[key]], item, rule.items, where)
        return
    places[key] = len(merged)
    merged.append(_merge_mapping({}, item, rule.items, where))


def _merge_values(old: list[Any], new: list[Any], order: list[Any], path: str) -> list[Any]:
    _check_plain(new, path)
    merged = list(dict.fromkeys([*old, *new]))
    return _in_order(merged, list(dict.fromkeys(new)), order, old, _itself, path)


def _in_order(
    merged: list[Any], patched: list[Any], order: list[Any], old: list[Any], identity: Identity, path: str
) -> list[Any]:
    """Puts the elements that the patch names into its order; the others stay before what they stood before.

    `patched` and `order` are identities; without an `order`, the patch's own sequence is the order.
    """
    named = set(patched)
    if order and [key for key in order if key in named] != patched:
        raise ValueError(f"{path}: the elements are not those of the {ORDER_OF} list, in its order")
    rank = {key: index for index, key in enumerate(order or patched)}
    live = {identity(item): index for index, item in reversed(list(enumerate(old)))}
    listed = sorted((item for item in merged if identity(item) in rank), key=lambda item: rank[identity(item)])
    others = [item for item in merged if identity(item) not in rank]
    return _interleave(others, listed, [live.get(identity(item), -1) for item in listed], live, identity)


def _interleave(
    others: list[Any], listed: list[Any], places: list[int], live: Mapping[Any, int], identity: Identity
) -> list[Any]:
    result: list[Any] = []
    taken = 0
    for item, place in zip(listed, places, strict=True):
        while taken < len(others) and live[identity(others[taken])] < place:
            result.append(others[taken])
            taken += 1
        result.append(item)
    return result + others[taken:]


def _reorder_untouched(merged: Object, patch: Object, schema: Schema, path: str) -> None:
    """An order may be given for a list that the patch leaves alone otherwise."""
    for name in patch:
        field = name.removeprefix(ORDER_OF)
        rule = schema.get(field)
        if field == name or field in patch or not isinstance(rule, (Keyed, ValueSet)):
            continue
        items = _list_or_empty(merged.get(field))
        if items:
            identity = _identity(rule) if isinstance(rule, Keyed) else _itself
            merged[field] = _in_order(items, [], _order(patch, field, rule, path), items, identity, path)


def _retained(target: Mapping[str, Any], patch: Object, path: str) -> Object:
    if RETAIN_KEYS not in patch:
        return dict(target)
    retained = {name for name in _list(patch[RETAIN_KEYS], _at(path, RETAIN_KEYS)) if isinstance(name, str)}
    for field in patch:
        if not field.startswith("$") and patch[field] is not None and field not in retained:
            raise ValueError("invalid patch format of retainKeys")
    return {field: value for field, value in target.items() if field in retained}


def _delete_values(merged: Object, patch: Object, path: str) -> None:
    for name, values in patch.items():
        field = name.removeprefix(DELETE_FROM)
        if field != name and isinstance(merged.get(field), list):
            gone, kept = _list(values, _at(path, name)), cast(list[Any], merged[field])
            _check_plain([*gone, *kept], _at(path, name))
            merged[field] = [value for value in kept if not is_one_of(value, gone)]


def _order(patch: Object, field: str, rule: Rule | None, path: str) -> list[Any]:
    """The identities in the order that the patch wants for the list `field`; empty when it does not say."""
    at = _at(path, ORDER_OF + field)
    items = _list(patch.get(ORDER_OF + field, []), at)
    if isinstance(rule, Keyed):
        return [_key_of(_mapping(item, at), rule, at) for item in items]
    _check_plain(items, at)
    return items


def _identity(rule: Keyed) -> Identity:
    return lambda item: cast(Object, item).get(rule.key) if isinstance(item, dict) else None


def _itself(value: Any) -> Any:
    return value


def _key_of(item: Object, rule: Keyed, path: str) -> Any:
    key = item.get(rule.key)
    if key is None or isinstance(key, (dict, list)):
        raise Unmergeable(f"map: {go_text(item)} does not contain declared merge key: {rule.key}")
    return key


def _directive(item: Object, path: str) -> str:
    directive = item[DIRECTIVE]
    if directive not in ("replace", "delete"):
        raise Unmergeable(f"unknown patch type: {directive} in map: {go_text(item)}")
    return directive


def _is_directive(item: Any) -> bool:
    return isinstance(item, dict) and DIRECTIVE in item


def _mapping(value: Any, path: str) -> Object:
    if not isinstance(value, dict):
        raise ValueError(f"{path}: is not a mapping")
    return cast(Object, value)


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{path}: is not a list")
    return cast(list[Any], value)


def _check_plain(values: list[Any], path: str) -> None:
    if any(isinstance(value, dict | list) for value in values):
        raise ValueError(f"{path}: is not a list of plain values")


def _list_or_empty(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _at(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def go_text(value: Any) -> str:
    """A value as Go prints it."""
    match value:
        case dict():
            fields = cast(Object, value)
            return "map[" + " ".join(f"{key}:{go_text(fields[key])}" for key in sorted(fields)) + "]"
        case list():
            return "[" + " ".join(go_text(item) for item in cast(list[Any], value)) + "]"
        case bool():
            return str(value).lower()
        case _:
            return "<nil>" if value is None else str(value)
