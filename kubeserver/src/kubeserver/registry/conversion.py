"""Conversion of what is stored to what is shown: under the schemas that hold now, and in the version that is asked for.

    what is stored ▸ the schemas of now (`Form`) ▸ another version (`Conversion`, where the definition has a webhook)

Kinds without schemas are shown as they are stored. An object that needs nothing is looked at once: its record remembers
under which form that was found. Only where a webhook is asked something is waited for.

Kubernetes: apiextensions-apiserver decodes every object whenever it is read; the same results.
"""

from collections.abc import Sequence

import msgspec

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.errors import unconvertible
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.schema_views import form_of
from kubeserver.registry.objects import decode_stored
from kubeserver.registry.versions import converted, stored_kind
from kubeserver.store import Record


class _Typed(msgspec.Struct, rename="camel", gc=False):
    api_version: str


_decode_type = msgspec.json.Decoder(_Typed).decode


async def show(kind: Kind, records: Sequence[Record]) -> list[bytes]:
    """The values of the records as objects of `kind`. Raises: Refused."""
    form = kind.form
    if form is None:
        return [record.value for record in records]
    if kind.conversion is None:
        return [record.value if record.form is form else _under_schemas(kind, record) for record in records]
    stored = [_stored_as(kind, record) for record in records]
    values = [_under_schemas(own, record) for own, record in zip(stored, records, strict=True)]
    foreign = [index for index, own in enumerate(stored) if own is not kind]
    made = await kind.conversion.convert([values[index] for index in foreign], kind.api_version)
    for index, value in zip(foreign, made, strict=True):
        values[index] = _pruned(kind, value)
    return values


async def show_one(kind: Kind, record: Record) -> bytes:
    """The value of the record as an object of `kind`. Raises: Refused."""
    if kind.form is None or (record.form is kind.form and kind.conversion is None):
        return record.value
    return (await show(kind, [record]))[0]


async def read_object(kind: Kind, record: Record) -> Manifest:
    """Raises: Refused."""
    return decode_stored(kind, await show_one(kind, record))


async def kept(kind: Kind, manifest: Manifest) -> Manifest:
    """The object as it is to be stored, in the version of the storage. Raises: Refused."""
    storage = stored_kind(kind)
    if storage is kind or storage.schema is None:
        return manifest
    made = await converted(kind, storage, manifest)
    storage.schema.prune(made)
    return made


def is_kept(kind: Kind, record: Record) -> bool:
    """Tells whether the record is what would be stored today if nobody changed the object."""
    if kind.form is None:
        return True
    storage = stored_kind(kind)
    return _stored_as(kind, record) is storage and _under_schemas(storage, record) is record.value


def _under_schemas(kind: Kind, record: Record) -> bytes:
    """The value with what the schemas of its own version and of `kind` make of it."""
    if record.form is kind.form:
        return record.value
    stored = _stored_as(kind, record)
    assert stored.schema is not None
    assert kind.schema is not None
    form = form_of(stored.schema, kind.schema)
    if record.form is form:
        return record.value
    value = form.show(record.value)
    if value is record.value:
        record.remember(form)
    return value


def _pruned(kind: Kind, value: bytes) -> bytes:
    """Object that a webhook made, without what the version does not have."""
    assert kind.schema is not None
    manifest = codec.decode_manifest(value)
    if not kind.schema.unknown_fields(manifest):
        return value
    kind.schema.prune(manifest)
    return codec.encode(manifest)


def _stored_as(kind: Kind, record: Record) -> Kind:
    """The version of the stored bytes. Raises: Refused when the definition does not have it any more."""
    api_version = _decode_type(record.value).api_version
    if api_version == kind.api_version:
        return kind
    stored = kind.family.get(api_version)
    if stored is None:
        raise unconvertible(f"request to convert CR from an invalid group/version: {api_version}")
    return stored
