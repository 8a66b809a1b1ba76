"""Definitions: from a CustomResourceDefinition to the kinds that it defines, and what its status has to say.

Pure: `kinds_of` and `settled_status` are functions of the definition and of the names that others have taken.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.jsonpath import Find, compile_path, printed
from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeserver.apiextensions.columns import columns_of
from kubeserver.apiextensions.scale_rules import scale_validator
from kubeserver.apiextensions.schema import StructuralSchema
from kubeserver.kinds.kind import Conversion, Kind, Scale, content_changed, families, spec_changed
from kubeserver.kinds.metadata import finalizer_warnings
from kubeserver.kinds.schema_views import form_of
from kubeserver.kinds.scheme import version_rank
from kubeserver.names import dns_subdomain
from kubeserver.values import entries, section, texts

_TERMINATING = (
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
MOST_SCHEMAS = 256
PREFIX = "/apiextensions.k8s.io/customresourcedefinitions/"


@dataclass(frozen=True, slots=True)
class Names:
    """Names that a definition claims in its group."""

    plural: str
    singular: str
    kind: str
    list_kind: str
    short_names: tuple[str, ...]

    def resources(self) -> set[str]:
        return {self.plural, self.singular, *self.short_names}


def names_of(definition: ReadOnlyManifest) -> Names:
    names: Mapping[str, Any] = definition["spec"]["names"]
    kind = names["kind"]
    return Names(
        plural=names["plural"],
        singular=names.get("singular") or kind.lower(),
        kind=kind,
        list_kind=names.get("listKind") or f"{kind}List",
        short_names=tuple(names.get("shortNames") or ()),
    )


def prefix_of(definition: ReadOnlyManifest) -> str:
    """Beginning of the keys of its objects."""
    return f"/{definition['spec']['group']}/{definition['spec']['names']['plural']}/"


def is_terminating(definition: ReadOnlyManifest) -> bool:
    return "deletionTimestamp" in definition["metadata"]


def kinds_of(definition: ReadOnlyManifest, conversion: Conversion | None = None) -> tuple[Kind, ...]:
    """One kind for each served version; they know of those that are not."""
    return tuple(kind for kind in _all_kinds_of(definition, conversion) if kind.served)


def storage_kind_of(definition: ReadOnlyManifest, conversion: Conversion | None = None) -> Kind:
    """The kind in the version that is stored, whether it is served or not."""
    return next(kind for kind in _all_kinds_of(definition, conversion) if kind.version == kind.storage_version)


def _all_kinds_of(definition: ReadOnlyManifest, conversion: Conversion | None) -> tuple[Kind, ...]:
    return families(_kind_of(definition, version, conversion) for version in definition["spec"]["versions"])


def _kind_of(definition: ReadOnlyManifest, version: Mapping[str, Any], conversion: Conversion | None) -> Kind:
    spec, names = definition["spec"], names_of(definition)
    storage = next(each for each in spec["versions"] if each["storage"])
    schema = _schema_of(version)
    subresources = section(version, "subresources")
    has_status = "status" in subresources
    return Kind(
        group=spec["group"],
        version=version["name"],
        kind=names.kind,
        plural=names.plural,
        namespaced=spec["scope"] == "Namespaced",
        short_names=names.short_names,
        categories=tuple(spec["names"].get("categories") or ()),
        singular=names.singular,
        list_kind=names.list_kind,
        storage_version=storage["name"],
        columns=tuple(columns_of(version.get("additionalPrinterColumns") or ())),
        status=has_status,
        scale=_scale(subresources.get("scale")),
        default=schema.default,
        validate=scale_validator(subresources.get("scale")),
        validate_status=scale_validator(subresources.get("scale"), status=True),
        name_rule=dns_subdomain,
        fields=dict(_selectable(version.get("selectableFields") or ())),
        generation=spec_changed if has_status else content_changed,
        unconditional_update=False,
        warnings=finalizer_warnings,
        custom=True,
        schema=schema,
        deprecation=_deprecation(spec, names.kind, version),
        terminating=is_terminating(definition),
        served=version["served"],
        form=form_of(_schema_of(storage), schema),
        conversion=conversion,
    )


def _schema_of(version: Mapping[str, Any]) -> StructuralSchema:
    return _compiled(codec.encode(section(version, "schema").get("openAPIV3Schema") or {}))


@lru_cache(maxsize=MOST_SCHEMAS)
def _compiled(schema: bytes) -> StructuralSchema:
    """Compiled once, however often a definition is written or served again."""
    return StructuralSchema(codec.decode_manifest(schema))


def _deprecation(spec: Mapping[str, Any], kind: str, version: Mapping[str, Any]) -> str:
    """The warning that goes with answers in a deprecated version."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return version["deprecationWarning"]
    current = [v["name"] for v in entries(spec, "versions") if v["served"] and not v.get("deprecated")]
    instead = f"; use {spec['group']}/{max(current, key=version_rank)} {kind}" if current else ""
    return f"{spec['group']}/{version['name']} {kind} is deprecated{instead}"


def _scale(scale: Mapping[str, Any] | None) -> Scale | None:
    if scale is None:
        return None
    return Scale(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def _selectable(fields: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, Callable[[ReadOnlyManifest], str]]]:
    """The fields that lists can select by, and how their values are written there."""
    for field in fields:
        yield field["jsonPath"].removeprefix("."), _reader(compile_path(field["jsonPath"], allow_missing=True))


def _reader(find: Find) -> Callable[[ReadOnlyManifest], str]:
    def read(manifest: ReadOnlyManifest) -> str:
        found = find(manifest)
        return "" if not found or found[0] is None else printed(found[0])

    return read


def first_status(definition: ReadOnlyManifest) -> dict[str, Any]:
    """The status of a definition at birth: nothing is accepted yet."""
    stored = [version["name"] for version in entries(definition["spec"], "versions") if version.get("storage")][:1]
    accepted = {"plural": "", "kind": ""}
    return {"conditions": None, "acceptedNames": accepted, "storedVersions": stored}


def remember_storage(definition: Manifest) -> None:
    """Adds the version that objects are stored in from now on to those that they may be stored in."""
    status = section(definition, "status")
    stored = [*texts(status, "storedVersions"), *first_status(definition)["storedVersions"]]
    definition["status"] = {**status, "storedVersions": list(dict.fromkeys(stored))}


def name_conflict(definition: ReadOnlyManifest, others: Iterable[ReadOnlyManifest]) -> tuple[str, str] | None:
    """Reason and message when another definition of the group, accepted before, has one of the names."""
    mine = names_of(definition)
    taken_names: set[str] = set()
    taken_kinds: set[str] = set()
    for other in others:
        if other["spec"]["group"] != definition["spec"]["group"]:
            continue
        theirs = names_of(other)
        if theirs.plural != mine.plural:
            taken_names |= theirs.resources()
            taken_kinds |= {theirs.kind, theirs.list_kind}
    claims = (
        ("PluralConflict", mine.plural, taken_names),
        ("SingularConflict", mine.singular, taken_names),
        *(("ShortNamesConflict", short, taken_names) for short in mine.short_names),
        ("KindConflict", mine.kind, taken_kinds),
        ("ListKindConflict", mine.list_kind, taken_kinds),
    )
    conflicts = [(reason, f'"{wanted}" is already in use') for reason, wanted, taken in claims if wanted in taken]
    return conflicts[-1] if conflicts else None


def settled_status(definition: ReadOnlyManifest, conflict: tuple[str, str] | None, now: datetime) -> dict[str, Any]:
    """The status of a definition that was looked at; equal to the present one when nothing has changed."""
    old = section(definition, "status")
    before = {condition["type"]: condition for condition in old.get("conditions") or ()}
    if conflict is None:
        wanted = [
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
        ]
        accepted = _accepted(definition)
    else:
        wanted = [
            ("NamesAccepted", "False", *conflict),
            ("Established", "False", "NotAccepted", "not all names are accepted"),
        ]
        accepted = {"plural": names_of(definition).plural, "kind": ""}
    if is_terminating(definition):
        wanted.append(_TERMINATING)
    conditions = [_condition(before.get(w[0]), w, now) for w in wanted]
    return {**first_status(definition), **old, "conditions": conditions, "acceptedNames": accepted}


def is_accepted(definition: ReadOnlyManifest) -> bool:
    """Tells whether the definition was given its names."""
    conditions = entries(section(definition, "status"), "conditions")
    return any(c["type"] == "NamesAccepted" and c["status"] == "True" for c in conditions)


def is_established(definition: ReadOnlyManifest) -> bool:
    """Tells whether its kinds are served, and may have objects."""
    conditions = entries(section(definition, "status"), "conditions")
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def ending_status(definition: ReadOnlyManifest, now: datetime) -> dict[str, Any]:
    """The status of a definition whose deletion has begun."""
    status = section(definition, "status")
    others = [c for c in entries(status, "conditions") if c["type"] != _TERMINATING[0]]
    return {**status, "conditions": [*others, _condition(None, _TERMINATING, now)]}


def _accepted(definition: ReadOnlyManifest) -> dict[str, Any]:
    names = definition["spec"]["names"]
    kept = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {key: names[key] for key in kept if names.get(key)}


def _condition(old: Manifest | None, wanted: tuple[str, str, str, str], now: datetime) -> dict[str, str]:
    kind, status, reason, message = wanted
    since = old["lastTransitionTime"] if old and is_equal(old["status"], status) else format_time(now)
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
