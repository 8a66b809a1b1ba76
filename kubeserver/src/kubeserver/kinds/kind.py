"""A kind, as the API server knows it: where it is served, how it is listed, defaulted, checked and printed.

Built-in kinds are rows of tables in this package; custom kinds are made from their definitions at runtime. The
registry treats both alike: whatever differs between two kinds is a field here.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.resource import Resource
from kubeapi.status import Problem
from kubeserver.names import NameRule, dns_subdomain
from kubeserver.structures.builtin import structure_of_kind
from kubeserver.structures.structure import ANY, Structure

Cell = Callable[[ReadOnlyManifest, datetime], Any]
Default = Callable[[Manifest], None]
Validate = Callable[[Manifest, Manifest | None], list[Problem]]
Changed = Callable[[ReadOnlyManifest, ReadOnlyManifest], bool]
Warnings = Callable[[ReadOnlyManifest, ReadOnlyManifest | None], list[str]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a Table. `cell` gets the object and the present instant."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """Places where the scale subresource finds its numbers; dotted paths, as in a CRD."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ".spec.selector"


class Schema(Protocol):
    """The structural schema of a custom kind."""

    def unknown_fields(self, manifest: ReadOnlyManifest) -> list[str]:
        """Paths of the fields that pruning takes away."""
        ...

    def embedded_resources(self, manifest: Manifest) -> Sequence[tuple[str, dict[str, Any]]]:
        """The objects that the object carries, each with its path."""
        ...

    def prune(self, manifest: Manifest) -> None: ...

    def default(self, manifest: Manifest) -> None: ...

    def validate(self, manifest: ReadOnlyManifest, old: ReadOnlyManifest | None) -> list[Problem]: ...

    def judge(
        self, manifest: ReadOnlyManifest, old: ReadOnlyManifest | None, found: Sequence[Problem]
    ) -> list[Problem]:
        """Problems that the schema's rules find, after `found` was found."""
        ...

    def validate_status(self, manifest: ReadOnlyManifest, old: ReadOnlyManifest | None) -> list[Problem]: ...

    def wire(self) -> Mapping[str, Any]:
        """The OpenAPI v3 form."""
        ...

    def structure(self, kind: str) -> Structure: ...


class View(Protocol):
    """Another form of objects that are stored as another kind or version. Both directions change in place."""

    def show(self, stored: Manifest) -> None: ...

    def store(self, shown: Manifest) -> None: ...


class Form(Protocol):
    """Form in which objects stored in one version are shown in one, under the schemas that hold now."""

    def show(self, value: bytes) -> bytes:
        """The object as it is shown: `value` itself where the schemas change nothing."""
        ...


class Conversion(Protocol):
    """Way of objects from one version into another, where that takes more than another apiVersion."""

    async def convert(self, values: Sequence[bytes], target: str) -> list[bytes]:
        """The objects in the version `target`, in their order. Raises: Unconvertible."""
        ...

    def known(self, value: bytes, target: str) -> bytes | None:
        """Object as it came of that when it was asked for last; None where that is not remembered."""
        ...


def nothing_to_default(manifest: Manifest) -> None:
    del manifest


def nothing_to_warn_of(manifest: ReadOnlyManifest, old: ReadOnlyManifest | None) -> list[str]:
    del manifest, old
    return []


def nothing_to_check(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del manifest, old
    return []


def spec_changed(old: ReadOnlyManifest, new: ReadOnlyManifest) -> bool:
    return not is_equal(old.get("spec"), new.get("spec"))


def content_changed(old: ReadOnlyManifest, new: ReadOnlyManifest) -> bool:
    """Any change outside of the metadata."""
    outside = ("metadata", "apiVersion", "kind")
    return {k: v for k, v in old.items() if k not in outside} != {k: v for k, v in new.items() if k not in outside}


@dataclass(frozen=True)
class Kind:
    """One kind in one version. Holds: an equal `prefix` means the same stored objects."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""
    list_kind: str = ""
    storage_version: str = ""
    storage_group: str | None = None
    view: View | None = None
    """View in which the stored form is shown as this kind, where that takes more than another apiVersion."""
    columns: tuple[Column, ...] = ()
    conclusion: Callable[[ReadOnlyManifest], tuple[str, str] | None] | None = None
    """Reason for which an object is done, and what a table says about that; None for kinds of which it says nothing."""
    status: bool = False
    scale: Scale | None = None
    accepts: tuple[str, ...] = ()
    """Further apiVersions of the same form that a body may be in."""
    subresources: tuple[str, ...] = ()
    default: Default = nothing_to_default
    complete: Default = nothing_to_default
    """Default that the server adds, which nobody asked for and nobody owns."""
    validate: Validate = nothing_to_check
    validate_status: Validate = nothing_to_check
    """Check of what a write to the status may not say."""
    warnings: Warnings = nothing_to_warn_of
    """Warnings to the client about an object that is taken."""
    problems_group: str | None = None
    """The group that refusals name, where it is not that of the kind."""
    name_rule: NameRule = dns_subdomain
    fields: Mapping[str, Callable[[ReadOnlyManifest], str]] = field(
        default_factory=dict[str, Callable[[ReadOnlyManifest], str]]
    )
    """Field selectors beyond metadata.name and metadata.namespace."""
    generation: Changed | None = None
    """Tells whether an update counts as a new generation; None for kinds without generations."""
    unconditional_update: bool = True
    """Tells whether PUT may leave the resourceVersion out."""
    creates_on_update: bool = False
    """Tells whether PUT creates what is not there."""
    orphans: bool = False
    """Tells whether dependents are left alone by a deletion that does not say what becomes of them."""
    orphans_warning: str = ""
    """Warning that the client is then given."""
    returns_deleted: bool = False
    """Tells whether the answer to a deletion is the object instead of a Status."""
    creates_status: bool = False
    """Tells whether a create may bring the status along, as Nodes do."""
    ephemeral: bool = False
    """Answered and forgotten, as reviews are: POST is the only verb."""
    derived: bool = False
    """Tells whether objects are never stored, but made when they are asked for: get and list are the only verbs."""
    custom: bool = False
    schema: Schema | None = None
    deprecation: str = ""
    terminating: bool = False
    """The definition of the kind is being deleted: nothing new may be created."""
    served: bool = True
    """Tells whether there is a path to it. A version that is not served any more may still be one that somebody wrote
    in."""
    form: Form | None = field(default=None, repr=False, compare=False)
    """Form in which objects that are stored in the storage version are shown; None for kinds that are shown as they are
    stored.

    There is one for each pair of schemas, so that who remembers a form remembers which schemas it stood for.
    """
    conversion: Conversion | None = field(default=None, repr=False, compare=False)
    """None where only the apiVersion changes from one version to another."""
    family: "Mapping[str, Kind]" = field(default_factory=dict[str, "Kind"], repr=False, compare=False)
    """All versions of the same stored objects, by apiVersion; empty for a kind that has only one."""

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def structure(self) -> Structure:
        """Structure that server-side apply walks along."""
        if self.schema is not None:
            return self.schema.structure(self.kind)
        return structure_of_kind(self.group, self.version, self.kind) or ANY

    @property
    def reported_group(self) -> str:
        return self.group if self.problems_group is None else self.problems_group

    @property
    def stored_group(self) -> str:
        return self.group if self.storage_group is None else self.storage_group

    @property
    def stored_api_version(self) -> str:
        version = self.storage_version or self.version
        return f"{self.stored_group}/{version}" if self.stored_group else version

    @cached_property
    def prefix(self) -> str:
        """Beginning of the store's keys of all objects of this kind."""
        return f"/{self.stored_group}/{self.plural}/"

    @cached_property
    def resource(self) -> Resource[Manifest]:
        return Resource(self.group, self.version, self.plural, self.kind, self.namespaced, dict)

    @property
    def singular_name(self) -> str:
        return self.singular or self.kind.lower()

    @property
    def list_kind_name(self) -> str:
        return self.list_kind or f"{self.kind}List"

    @property
    def all_subresources(self) -> tuple[str, ...]:
        own = (("status",) if self.status else ()) + (("scale",) if self.scale else ())
        return own + self.subresources

    def key(self, namespace: str, name: str) -> str:
        return f"{self.prefix}{namespace}/{name}"


def families(kinds: Iterable[Kind]) -> tuple[Kind, ...]:
    """The same kinds, those that are versions of the same stored objects knowing of each other."""
    kinds = tuple(kinds)
    sizes = Counter(kind.prefix for kind in kinds if not kind.ephemeral)
    known: dict[str, dict[str, Kind]] = {prefix: {} for prefix, size in sizes.items() if size > 1}
    made = tuple(replace(kind, family=known.get(kind.prefix, {})) for kind in kinds)
    for kind in made:
        if kind.prefix in known:
            known[kind.prefix][kind.api_version] = kind
    return made
