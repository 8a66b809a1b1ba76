"""The verbs that write: create, update, patch and apply, on objects and on their scale."""

from collections.abc import Callable
from dataclasses import dataclass

from leeward.api import codec
from leeward.api.meta import Manifest, ReadOnlyManifest, format_time
from leeward.api.status import Problem
from leeward.apiserver import refusals
from leeward.apiserver.forms.presenting import with_warnings
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.kinds.metadata import finalizer_warnings
from leeward.apiserver.registry.decoding import (
    Decoded,
    Unfit,
    cannot_handle,
    check_type,
    decode_object,
    parse_body,
    unregistered,
)
from leeward.apiserver.registry.duplicates import duplicate_fields, duplicate_yaml_fields
from leeward.apiserver.registry.managing import applied
from leeward.apiserver.registry.objects import metadata_of
from leeward.apiserver.registry.options import WriteOptions, write_options
from leeward.apiserver.registry.patching import Patch, is_apply, parse_applied, parse_patch, unfit_patch
from leeward.apiserver.registry.scaling import SCALE, applied_scale, render_scale, scaled
from leeward.apiserver.registry.writing import Writer, Written
from leeward.apiserver.remarks import warn
from leeward.apiserver.routing import Target
from leeward.apiserver.verbs.call import Call
from leeward.client.transport import Response
from leeward.loop.clock import Clock


@dataclass(frozen=True, slots=True)
class WriteVerbs:
    """All of them raise: Refused."""

    writer: Writer
    clock: Clock

    async def create(self, call: Call) -> Response:
        kind, target = call.kind, call.target
        options = write_options(call.query, "CreateOptions")
        manifest = parse_body(kind, call.request.body, call.content_type)
        check_type(kind, manifest)
        decoded = _fit(call, manifest, options.field_validation)
        _check_namespace(target, decoded.manifest)
        if kind.terminating:
            name = metadata_of(manifest).get("name", "")
            why = "create not allowed while custom resource definition is terminating"
            raise refusals.forbidden(kind.group, kind.plural, name, why)
        written = await self.writer.create(
            kind, target.namespace, decoded.manifest, call.user, options.dry_run, call.manager
        )
        warnings = decoded.warnings + finalizer_warnings(kind, decoded.manifest)
        return with_warnings(await call.shown(written, 201), warnings)

    async def update(self, call: Call) -> Response:
        kind, target = call.kind, call.target
        options = write_options(call.query, "UpdateOptions")
        manifest = parse_body(kind, call.request.body, call.content_type)
        check_type(kind, manifest)
        decoded = _fit(call, manifest, options.field_validation)
        wanted = decoded.manifest
        _check_name(target, wanted)
        if not target.subresource and self.writer.store.head(kind.key(target.namespace, target.name)) is None:
            written = await self._create_by_update(call, wanted, options.dry_run)
            return with_warnings(await call.shown(written, 201), decoded.warnings)
        _check_conditional(kind, target.name, wanted)
        written = await self._change(call, _replaced_by(kind, wanted), options.dry_run)
        return with_warnings(await call.shown(written), decoded.warnings)

    async def _create_by_update(self, call: Call, wanted: Manifest, dry_run: bool) -> Written:
        kind, target = call.kind, call.target
        if not kind.creates_on_update:
            raise refusals.not_found(kind.group, kind.plural, target.name)
        _check_uid(kind, target.name, wanted, "")
        wanted["metadata"].pop("resourceVersion", None)
        return await self.writer.create(kind, target.namespace, wanted, call.user, dry_run, call.manager)

    async def patch(self, call: Call) -> Response:
        if is_apply(call.content_type):
            return await self._apply(call)
        kind = call.kind
        options = write_options(call.query, "PatchOptions")
        patch = parse_patch(kind, call.request.body, call.content_type, options.field_validation)
        warnings: list[str] = []

        def change(current: Manifest) -> Manifest:
            known = current if patch.shares else None
            decoded = _fit_patched(kind, patch.apply(current), options.field_validation, patch, known)
            _check_name(call.target, decoded.manifest)
            warnings[:] = decoded.warnings
            return decoded.manifest

        written = await self._change(call, change, options.dry_run)
        return with_warnings(await call.shown(written), warnings)

    async def _apply(self, call: Call) -> Response:
        """Server-side apply: creates what is not there."""
        kind, target = call.kind, call.target
        if target.subresource or self.writer.store.head(kind.key(target.namespace, target.name)) is not None:
            return await call.shown(await self._apply_existing(call))
        options = write_options(call.query, "PatchOptions", apply=True)
        manifest = self._applied(call, options)(None)
        manifest["metadata"].pop("resourceVersion", None)
        written = await self.writer.create(kind, target.namespace, manifest, call.user, options.dry_run)
        return await call.shown(written, 201)

    async def _apply_existing(self, call: Call) -> Written:
        options = write_options(call.query, "PatchOptions", apply=True)
        return await self._change(call, self._applied(call, options), options.dry_run, tracked=False)

    def _applied(self, call: Call, options: WriteOptions) -> Callable[[Manifest | None], Manifest]:
        kind, target = call.kind, call.target
        config = _parse_applied(call)
        _check_namespace(target, config)
        _check_repeated(call, options.field_validation)

        def apply(live: Manifest | None) -> Manifest:
            now = "" if target.subresource == "scale" else format_time(self.clock.now())
            merged = applied(kind, live, config, call.manager, target.subresource, now, options.force)
            owners = merged["metadata"]["managedFields"]
            decoded = _fit_patched(kind, codec.copy_manifest(merged), options.field_validation)
            metadata = decoded.manifest["metadata"]
            if live is None:
                _check_created(target, metadata)
            metadata["managedFields"] = owners
            if not owners and not target.subresource:
                del metadata["managedFields"]
            return decoded.manifest

        return apply

    async def _change(
        self, call: Call, change: Callable[[Manifest], Manifest], dry_run: bool, *, tracked: bool = True
    ) -> Written:
        target, manager = call.target, call.manager if tracked else ""
        return await self.writer.change(
            target.kind, target.namespace, target.name, change, call.user, dry_run, target.subresource, manager
        )

    async def scale(self, call: Call) -> Response:
        """PUT and PATCH of a Scale; the answer is the Scale that results."""
        written = await (self._apply_existing(call) if _is_apply(call) else self._rescale(call))
        return call.shown_scale(written.manifest)

    async def _rescale(self, call: Call) -> Written:
        kind, target = call.kind, call.target
        if call.request.method == "PUT":
            wanted = parse_body(kind, call.request.body, call.content_type)
            apply: Callable[[Manifest], Manifest] = lambda current: wanted  # noqa: E731
        else:
            apply = parse_patch(kind, call.request.body, call.content_type).apply
        dry_run = write_options(call.query, "UpdateOptions").dry_run
        return await self.writer.change(
            kind,
            target.namespace,
            target.name,
            lambda current: scaled(kind, current, apply(render_scale(kind, current))),
            call.user,
            dry_run,
            "scale",
            call.manager,
        )


def _is_apply(call: Call) -> bool:
    return call.request.method == "PATCH" and is_apply(call.content_type)


def _fit(call: Call, manifest: Manifest, field_validation: str) -> Decoded:
    read = duplicate_yaml_fields if "yaml" in call.content_type else duplicate_fields
    repeated = () if field_validation == "Ignore" else read(call.request.body)
    remarks = [f'duplicate field "{path}"' for path in repeated]
    try:
        return decode_object(call.kind, manifest, field_validation, remarks)
    except Unfit as unfit:
        raise cannot_handle(call.kind, unfit) from unfit


def _parse_applied(call: Call) -> Manifest:
    kind, name, body = call.kind, call.target.name, call.request.body
    if call.target.subresource == "scale":
        return applied_scale(kind, name, parse_applied(SCALE, body, name))
    return parse_applied((kind.group, kind.version, kind.kind), body, name)


def _check_created(target: Target, metadata: ReadOnlyManifest) -> None:
    """What an applied configuration must say of an object that is not there yet. Raises: Refused."""
    kind, name = target.kind, target.name
    if "name" not in metadata:
        why = "was undeterminable: name must be provided"
        raise refusals.bad_request(f"the name of the object ({name} based on URL) {why}")
    if metadata.get("uid"):
        why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
        raise refusals.conflict(kind.group, kind.plural, name, why)


def _check_repeated(call: Call, field_validation: str) -> None:
    """Fields that an applied configuration has twice. Raises: Refused under Strict."""
    repeated = () if field_validation == "Ignore" else duplicate_yaml_fields(call.request.body)
    said = [f'duplicate field "{path}"' for path in repeated]
    if said and field_validation == "Strict":
        raise refusals.bad_request(f"error strict decoding YAML: {', '.join(said)}")
    for text in said:
        warn(text)


def _replaced_by(kind: Kind, wanted: Manifest) -> Callable[[Manifest], Manifest]:
    """A replacement, which has the uid of what it replaces if it has one."""

    def change(current: Manifest) -> Manifest:
        _check_uid(kind, current["metadata"]["name"], wanted, current["metadata"]["uid"])
        return {**wanted, "metadata": dict(wanted["metadata"])}

    return change


def _check_uid(kind: Kind, name: str, wanted: ReadOnlyManifest, found: str) -> None:
    """The object that is to be replaced must be the one that is there. Raises: Refused."""
    expected = metadata_of(dict(wanted)).get("uid")
    if expected and expected != found:
        said = f"Precondition failed: UID in precondition: {expected}, UID in object meta: {found}"
        raise refusals.conflict(kind.group, kind.plural, name, said)


def _fit_patched(
    kind: Kind,
    manifest: Manifest,
    field_validation: str,
    patch: Patch | None = None,
    known: ReadOnlyManifest | None = None,
) -> Decoded:
    _check_patched_type(kind, manifest)
    try:
        return decode_object(kind, manifest, field_validation, patch.remarks if patch is not None else (), known)
    except Unfit as unfit:
        raise (patch.unfit(unfit) if patch is not None else unfit_patch(str(unfit))) from unfit


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
    raise refusals.invalid(group, str(said_kind), str(metadata_of(manifest).get("name", "")), problems)


def _check_namespace(target: Target, manifest: Manifest) -> None:
    said = metadata_of(manifest).get("namespace", "")
    if target.kind.namespaced and said not in ("", target.namespace):
        raise refusals.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _check_name(target: Target, manifest: Manifest) -> None:
    said = metadata_of(manifest).get("name", "")
    if not said:
        raise refusals.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if said != target.name:
        raise refusals.bad_request(
            f"the name of the object ({said}) does not match the name on the URL ({target.name})"
        )
    _check_namespace(target, manifest)


def _check_conditional(kind: Kind, name: str, manifest: Manifest) -> None:
    """Some kinds are only replaced by those who know what they replace."""
    if not kind.unconditional_update and metadata_of(manifest).get("resourceVersion", "") in ("", "0"):
        problem = Problem.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise refusals.invalid(kind.group, kind.plural, name, [problem])
