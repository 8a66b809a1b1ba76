"""Revision of a binding: the contents of its template, and of the override policies that select it, but for replicas.

A revision is named by the digest of its contents. Other replicas are no other revision: who scales does not wait. Marks
of the control plane on the template are none of its contents.

Contents are kept in an annotation of the binding. Whoever may write bindings may write that, so contents are believed
only where they have the digest that a Work names: only the control plane writes Works (`believed`).
"""

import base64
import binascii
import hashlib
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from kubeapi.codec import DecodeError, canonical, decode_any, decode_manifest, encode, from_wire, to_wire
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of, labels_of
from leeward.api.names import TEMPLATE_GENERATION_ANNOTATION
from leeward.api.override import ClusterOverridePolicy, OverridePolicy
from leeward.api.rollout import ROLLOUT_REVISIONS_ANNOTATION
from leeward.api.work import Binding, Work
from leeward.core.execution.given_ports import LAST_APPLIED_ANNOTATION, as_asked
from leeward.core.overrides.override_rule import Rules, rules_of
from leeward.core.rollout.state import revisions_of_work

MOST_CHARACTERS: Final = 160_000
"""Most characters of all packed contents: all annotations of an object may have 262,144."""
MOST_BYTES: Final = 4_000_000
"""Most bytes of contents that are unpacked."""
_OF_THE_CONTROL_PLANE = ("karmada.io", "leeward.dev")


@dataclass(frozen=True)
class Revision:
    """`template` has neither replicas nor marks of the control plane; `overrides` are the policies, as on the wire."""

    template: ReadOnlyManifest
    overrides: tuple[ReadOnlyManifest, ...] = ()

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(self._contents).hexdigest()

    @cached_property
    def packed(self) -> str:
        return base64.b64encode(zlib.compress(self._contents)).decode()

    @property
    def _contents(self) -> bytes:
        return canonical({"overrides": self.overrides, "template": self.template})

    def rules(self) -> tuple[tuple[Rules, ...], tuple[Rules, ...]]:
        """Rules of its ClusterOverridePolicies, and of its OverridePolicies. Raises: DecodeError."""
        wide = (each for each in self.overrides if not each["metadata"].get("namespace"))
        own = (each for each in self.overrides if each["metadata"].get("namespace"))
        return (
            tuple(rules_of(from_wire(each, ClusterOverridePolicy)) for each in wide),
            tuple(rules_of(from_wire(each, OverridePolicy)) for each in own),
        )

    def as_template(self, live: ReadOnlyManifest, generation: int) -> Manifest:
        """The template as it was at this `generation`, with the control plane's marks of the `live` one."""
        metadata = self.template["metadata"]
        marks = {
            field: {**metadata.get(field, {}), **_marks(found)}
            for field, found in (("labels", labels_of(live)), ("annotations", annotations_of(live)))
        }
        uid = live["metadata"].get("uid", "")
        return {**self.template, "metadata": {**metadata, **marks, "uid": uid, "generation": generation}}


def revision_of(template: ReadOnlyManifest, without_replicas: ReadOnlyManifest, policies: Iterable[Rules]) -> Revision:
    """The revision of a template; `without_replicas` is the same with none."""
    metadata = template["metadata"]
    named = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
    for field, found in (("labels", labels_of(template)), ("annotations", annotations_of(template))):
        if own := {key: value for key, value in found.items() if key not in _marks(found)}:
            named[field] = own
    contents = {key: value for key, value in as_asked(without_replicas).items() if key != "status"}
    return Revision({**contents, "metadata": named}, tuple(_told(rules) for rules in policies))


def pack(revisions: Iterable[Revision]) -> str:
    """The annotation of these revisions, the most important first; those that have no room are left out."""
    packed, room = dict[str, str](), MOST_CHARACTERS
    for revision in revisions:
        if revision.id not in packed and len(revision.packed) <= room:
            packed[revision.id] = revision.packed
            room -= len(revision.packed)
    return encode(packed).decode()


def believed(binding: Binding, works: Collection[Work], template: ReadOnlyManifest) -> Mapping[str, Revision]:
    """Revisions that the binding has the contents of, and its Works name, by id. Holds: S6.

    One of another object than the `template` is none of them.
    """
    named = frozenset(name for work in works for name in revisions_of_work(work))
    found = _unpack_all(binding.metadata.annotations.get(ROLLOUT_REVISIONS_ANNOTATION, ""), named)
    return {name: each for name, each in found.items() if is_equal(_object(each.template), _object(template))}


def generation_of(works: Mapping[str, Work], revision: str) -> int:
    """The last generation of the template of which a Work with this revision was made; 0 where none says so."""
    found = (
        annotations_of(manifest).get(TEMPLATE_GENERATION_ANNOTATION, "")
        for work in works.values()
        if revisions_of_work(work)[:1] == (revision,)
        for manifest in work.spec.workload.manifests
    )
    return max((int(text) for text in found if text.isdecimal() and len(text) < 19), default=0)


def revision_mark(revision: str, before: str) -> str:
    """The annotation of a Work that is made of this revision; `before` is the one to go back to, if any."""
    return f"{revision} {before}" if before and before != revision else revision


@lru_cache(maxsize=16)
def _unpack_all(text: str, named: frozenset[str]) -> Mapping[str, Revision]:
    try:
        packed = decode_manifest(text.encode()) if text else {}
    except DecodeError:
        return {}
    found = {name: _unpack(name, packed[name]) for name in named if isinstance(packed.get(name), str)}
    return {name: revision for name, revision in found.items() if revision is not None}


def _unpack(name: str, text: str) -> Revision | None:
    """None where nobody can read it, or it is another one: contents are read only with the digest that they claim."""
    try:
        unpacking = zlib.decompressobj()
        unpacked = unpacking.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
        if unpacking.unconsumed_tail or hashlib.sha256(unpacked).hexdigest() != name:
            return None
        contents: Any = decode_any(unpacked)
        template, overrides = contents["template"], tuple(contents["overrides"])
        revision = Revision(template, overrides)
        revision.rules()
        _object(template)
    except (binascii.Error, zlib.error, DecodeError, RecursionError, KeyError, TypeError, ValueError, AttributeError):
        return None
    return revision


def _object(template: ReadOnlyManifest) -> list[object]:
    metadata = template["metadata"]
    return [template["apiVersion"], template["kind"], metadata.get("namespace", ""), metadata["name"]]


def _told(rules: Rules) -> Manifest:
    policy = rules[0].policy
    namespace = {"namespace": policy.namespace} if policy.namespace else {}
    return {"metadata": {"name": policy.name, **namespace}, "spec": to_wire(policy.spec)}


def _marks(found: Mapping[str, str]) -> dict[str, str]:
    """Labels or annotations that the control plane has put there, or clients keep for themselves."""
    return {key: value for key, value in found.items() if _is_mark(key)}


def _is_mark(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    return key == LAST_APPLIED_ANNOTATION or (bool(slash) and domain.endswith(_OF_THE_CONTROL_PLANE))
