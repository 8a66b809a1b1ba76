"""Forgetting of what somebody applied once and does not say any more: it goes, unless somebody else owns it, too.

Everybody owns fields of their own version. What nobody of the forgetting one's version owns is a candidate; an owner in
another version keeps the candidates that are missing there, of what is theirs, once the candidates are gone. Objects
are only converted to look at them: what is stored never takes a way through another version and back.
"""

from typing import Any

from kubeapi.meta import Manifest
from kubeserver.patch.apply.fieldset import EMPTY, FieldSet
from kubeserver.patch.apply.managers import Entry, Managed
from kubeserver.patch.apply.typed import compare, named_parents, remove
from kubeserver.patch.apply.versions import Versions
from kubeserver.structures.structure import Structure


def forget(versions: Versions, merged: Manifest, last: Entry, managed: Managed, said: Entry) -> Manifest:
    """`merged`, in the version of `said`, without what `last` had and `said` and `managed` have not."""
    here, there = said.manager.api_version, last.manager.api_version
    structure, before = versions.structure(here), versions.structure(there)
    if structure is None or before is None:
        return merged
    owned = _by_version([*managed.entries(), said])
    kept = owned.get(there, EMPTY)
    if not (dropped := last.fields - kept):
        return merged
    gone = named_parents(before, dropped) - named_parents(before, kept)
    whole = versions.convert(merged, here, there)
    for other in owned.keys() - {here, there}:
        gone -= _held(versions, whole, gone, there, other, owned[other])
    if here != there:
        gone = _lost(versions, whole, gone, there, here) - named_parents(structure, owned[here])
    return remove(structure, merged, gone)


def _by_version(entries: list[Entry]) -> dict[str, FieldSet]:
    owned: dict[str, FieldSet] = {}
    for entry in entries:
        version = entry.manager.api_version
        owned[version] = owned.get(version, EMPTY) | entry.fields
    return owned


def _held(versions: Versions, whole: Any, gone: FieldSet, there: str, other: str, owned: FieldSet) -> FieldSet:
    """The places of `whole`, a value in the version `there`, that owners in the version `other` hold."""
    structure, back = versions.structure(other), versions.structure(there)
    if structure is None or back is None:
        return EMPTY
    lost, theirs = _lost(versions, whole, gone, there, other), named_parents(structure, owned)
    if not lost & theirs:
        return EMPTY
    kept = remove(structure, versions.convert(whole, there, other), lost - theirs)
    return _places(back, versions.convert(kept, other, there))


def _lost(versions: Versions, whole: Any, gone: FieldSet, there: str, other: str) -> FieldSet:
    """Fields that are missing in the version `other` when `gone` is taken from `whole`, a value in the version
    `there`."""
    back, structure = versions.structure(there), versions.structure(other)
    if back is None or structure is None:
        return EMPTY
    left = remove(back, whole, gone)
    before, after = (versions.convert(value, there, other) for value in (whole, left))
    return frozenset(compare(structure, before, after).removed)


def _places(structure: Structure, value: Any) -> FieldSet:
    """Every place that is there."""
    return frozenset(compare(structure, {}, value).added)
