"""Bodies of writes, each of which must be of the right type and name, and about the object that is there."""

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver import errors
from kubeserver.handlers.call import Call
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.metadata import drop_repeated_owners, size_problems
from kubeserver.registry.decoding import (
    Decoded,
    UndecodableObject,
    cannot_handle,
    check_type,
    decode_object,
    parse_body,
    unregistered,
)
from kubeserver.registry.duplicates import duplicate_fields, duplicate_yaml_fields
from kubeserver.registry.objects import metadata_of
from kubeserver.registry.patching import Patch, unfit_patch
from kubeserver.routing import Target
from kubeserver.warnings import warn


def read_body(call: Call, field_validation: str, kind: Kind | None = None) -> Manifest:
    """The body as an object of the kind of the target, or of what is sent to its subresource. Raises: Refused."""
    kind = kind or call.kind
    manifest = parse_body(kind, call.request.body, call.content_type)
    check_type(kind, manifest)
    read = duplicate_yaml_fields if "yaml" in call.content_type else duplicate_fields
    repeated = () if field_validation == "Ignore" else read(call.request.body)
    warnings = [f'duplicate field "{path}"' for path in repeated]
    try:
        decoded = decode_object(kind, manifest, field_validation, warnings)
        return _told(kind, decoded, stored=call.request.method == "PUT").manifest
    except UndecodableObject as unfit:
        raise cannot_handle(kind, unfit) from unfit


def fit_patched(
    kind: Kind,
    manifest: Manifest,
    field_validation: str,
    patch: Patch | None = None,
    known: ReadOnlyManifest | None = None,
) -> Decoded:
    _check_patched_type(kind, manifest)
    try:
        warnings = patch.warnings if patch is not None else ()
        return _told(kind, decode_object(kind, manifest, field_validation, warnings, known), stored=True)
    except UndecodableObject as unfit:
        raise (patch.unfit(unfit) if patch is not None else unfit_patch(str(unfit))) from unfit


def _told(kind: Kind, decoded: Decoded, *, stored: bool) -> Decoded:
    """Decoded body with each owner once; the client is told what was not understood, whatever becomes of the request.

    Raises: Refused for metadata that is too much.
    """
    if problems := size_problems(decoded.manifest, stored=stored):
        name = str(metadata_of(decoded.manifest).get("name", ""))
        raise errors.invalid(kind.group, kind.kind, name, problems)
    for text in (*decoded.warnings, *drop_repeated_owners(decoded.manifest)):
        warn(text)
    return decoded


def _check_patched_type(kind: Kind, manifest: Manifest) -> None:
    said_version, said_kind = manifest.get("apiVersion"), manifest.get("kind")
    if (said_version, said_kind) == (kind.api_version, kind.kind):
        return
    if not kind.custom:
        raise unfit_patch(unregistered(str(said_version), str(said_kind)))
    problems: list[Problem] = []
    if said_kind != kind.kind:
        problems.append(Problem.invalid("kind", said_kind, f"must be {kind.kind}"))
    if said_version != kind.api_version:
        problems.append(Problem.invalid("apiVersion", said_version, f"must be {kind.api_version}"))
    group = str(said_version or "").rpartition("/")[0]
    raise errors.invalid(group, str(said_kind), str(metadata_of(manifest).get("name", "")), problems)


def check_namespace(target: Target, manifest: Manifest) -> None:
    said = metadata_of(manifest).get("namespace", "")
    if target.kind.namespaced and said not in ("", target.namespace):
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(target: Target, manifest: Manifest) -> None:
    said = metadata_of(manifest).get("name", "")
    if not said:
        raise errors.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if said != target.name:
        raise errors.bad_request(f"the name of the object ({said}) does not match the name on the URL ({target.name})")
    check_namespace(target, manifest)


def check_uid(kind: Kind, name: str, wanted: ReadOnlyManifest, found: str) -> None:
    """The object that is to be replaced must be the one that is there. Raises: Refused."""
    expected = metadata_of(dict(wanted)).get("uid")
    if expected and expected != found:
        said = f"Precondition failed: UID in precondition: {expected}, UID in object meta: {found}"
        raise errors.conflict(kind.group, kind.plural, name, said)


def check_conditional(kind: Kind, name: str, manifest: Manifest) -> None:
    """Refuses an update without a resourceVersion where a kind is only replaced by those who know what they replace."""
    if not kind.unconditional_update and metadata_of(manifest).get("resourceVersion", "") in ("", "0"):
        problem = Problem.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.invalid(kind.group, kind.plural, name, [problem])
