"""The verbs that write: create, update, patch and apply, on objects and on their scale."""

from collections.abc import Callable
from dataclasses import dataclass

from kubeapi import codec
from kubeapi.loop import Clock
from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeapi.transport import Response
from kubeserver import errors
from kubeserver.auth.authorization import Attributes, Gate
from kubeserver.handlers.bodies import check_conditional, check_name, check_namespace, check_uid, fit_patched, read_body
from kubeserver.handlers.call import Call
from kubeserver.kinds.kind import Kind
from kubeserver.registry.duplicates import duplicate_yaml_fields
from kubeserver.registry.large_objects import pause
from kubeserver.registry.managing import applied, check_fits
from kubeserver.registry.objects import metadata_of
from kubeserver.registry.options import WriteOptions, write_options
from kubeserver.registry.patching import is_apply, parse_applied, parse_patch
from kubeserver.registry.scaling import SCALE, SCALE_KIND, applied_scale, render_scale, scaled
from kubeserver.registry.writing import Writer, Written
from kubeserver.routing import Target
from kubeserver.warnings import warn


@dataclass(frozen=True, slots=True)
class WriteVerbs:
    """Handlers of the verbs that write. All of them raise: Refused. At the `gate` is asked what a request turns out to
    be besides its own verb."""

    writer: Writer
    clock: Clock
    gate: Gate

    async def create(self, call: Call) -> Response:
        kind, target = call.kind, call.target
        options = write_options(call.query, "CreateOptions")
        manifest = read_body(call, options.field_validation)
        check_namespace(target, manifest)
        if kind.terminating:
            name = metadata_of(manifest).get("name", "")
            why = "create not allowed while custom resource definition is terminating"
            raise errors.forbidden(kind.group, kind.plural, name, why)
        written = await self.writer.create(kind, target.namespace, manifest, call.user, options.dry_run, call.manager)
        return await call.shown(written, 201)

    async def update(self, call: Call) -> Response:
        kind, target = call.kind, call.target
        options = write_options(call.query, "UpdateOptions")
        wanted = read_body(call, options.field_validation)
        await pause(len(call.request.body))
        check_name(target, wanted)
        is_missing = self.writer.store.head(kind.key(target.namespace, target.name)) is None
        if is_missing and target.subresource:
            raise errors.not_found(kind.group, kind.plural, target.name)
        if is_missing:
            written = await self._create_by_update(call, wanted, options.dry_run)
            return await call.shown(written, 201)
        check_conditional(kind, target.name, wanted)
        written = await self._change(call, _replaced_by(kind, wanted), options.dry_run)
        return await call.shown(written)

    def _check_may_create(self, call: Call) -> None:
        """Checks the right of who asked for something else, and would create."""
        kind, target = call.kind, call.target
        self.gate.check(call.user, Attributes("create", kind.group, kind.plural, "", target.namespace, target.name))

    async def _create_by_update(self, call: Call, wanted: Manifest, dry_run: bool) -> Written:
        """Creates by an update, for who may create."""
        kind, target = call.kind, call.target
        if not kind.creates_on_update:
            raise errors.not_found(kind.group, kind.plural, target.name)
        self._check_may_create(call)
        check_uid(kind, target.name, wanted, "")
        wanted["metadata"].pop("resourceVersion", None)
        return await self.writer.create(kind, target.namespace, wanted, call.user, dry_run, call.manager)

    async def patch(self, call: Call) -> Response:
        if is_apply(call.content_type):
            return await self._apply(call)
        kind = call.kind
        options = write_options(call.query, "PatchOptions")
        patch = parse_patch(kind, call.request.body, call.content_type, options.field_validation)
        await pause(len(call.request.body))

        def change(current: Manifest) -> Manifest:
            known = current if patch.shares else None
            decoded = fit_patched(kind, patch.apply(current), options.field_validation, patch, known)
            check_name(call.target, decoded.manifest)
            return decoded.manifest

        written = await self._change(call, change, options.dry_run)
        return await call.shown(written)

    async def _apply(self, call: Call) -> Response:
        """Server-side apply: creates what is not there, for who may create."""
        kind, target = call.kind, call.target
        if target.subresource or self.writer.store.head(kind.key(target.namespace, target.name)) is not None:
            return await call.shown(await self._apply_existing(call))
        options = write_options(call.query, "PatchOptions", apply=True)
        self._check_may_create(call)
        apply = self._applied(call, options)
        await pause(len(call.request.body))
        manifest = apply(None)
        manifest["metadata"].pop("resourceVersion", None)
        written = await self.writer.create(kind, target.namespace, manifest, call.user, options.dry_run)
        return await call.shown(written, 201)

    async def _apply_existing(self, call: Call) -> Written:
        options = write_options(call.query, "PatchOptions", apply=True)
        apply = self._applied(call, options)
        await pause(len(call.request.body))
        return await self._change(call, apply, options.dry_run, tracked=False)

    def _applied(self, call: Call, options: WriteOptions) -> Callable[[Manifest | None], Manifest]:
        kind, target = call.kind, call.target
        config = _parse_applied(call)
        check_namespace(target, config)
        check_fits(kind, config)
        _check_repeated(call, options.field_validation)

        def apply(live: Manifest | None) -> Manifest:
            now = "" if target.subresource == "scale" else format_time(self.clock.now())
            merged = applied(kind, live, config, call.manager, target.subresource, now, options.force)
            owners = merged["metadata"]["managedFields"]
            decoded = fit_patched(kind, codec.copy_manifest(merged), options.field_validation)
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
        kind, replaces = call.kind, call.request.method == "PUT"
        options = write_options(call.query, "UpdateOptions" if replaces else "PatchOptions")
        apply = self._replaced_scale(call, options) if replaces else self._patched_scale(call, options)
        return await self._change(call, lambda current: scaled(kind, current, apply(current)), options.dry_run)

    def _replaced_scale(self, call: Call, options: WriteOptions) -> Callable[[Manifest], Manifest]:
        wanted = read_body(call, options.field_validation, SCALE_KIND)
        check_name(call.target, wanted)

        def apply(current: Manifest) -> Manifest:
            check_uid(call.kind, call.target.name, wanted, current["metadata"]["uid"])
            return wanted

        return apply

    def _patched_scale(self, call: Call, options: WriteOptions) -> Callable[[Manifest], Manifest]:
        patch = parse_patch(call.kind, call.request.body, call.content_type, options.field_validation)

        def apply(current: Manifest) -> Manifest:
            patched = patch.apply(render_scale(call.kind, current))
            decoded = fit_patched(SCALE_KIND, patched, options.field_validation, patch)
            check_name(call.target, decoded.manifest)
            return decoded.manifest

        return apply


def _is_apply(call: Call) -> bool:
    return call.request.method == "PATCH" and is_apply(call.content_type)


def _parse_applied(call: Call) -> Manifest:
    kind, name, body = call.kind, call.target.name, call.request.body
    if call.target.subresource == "scale":
        config = parse_applied(SCALE, body, name)
        check_fits(SCALE_KIND, config)
        return applied_scale(kind, name, config)
    return parse_applied((kind.group, kind.version, kind.kind), body, name)


def _check_created(target: Target, metadata: ReadOnlyManifest) -> None:
    """Checks what an applied configuration says of an object that is not there yet. Raises: Refused."""
    kind, name = target.kind, target.name
    if "name" not in metadata:
        why = "was undeterminable: name must be provided"
        raise errors.bad_request(f"the name of the object ({name} based on URL) {why}")
    if metadata.get("uid"):
        why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
        raise errors.conflict(kind.group, kind.plural, name, why)


def _check_repeated(call: Call, field_validation: str) -> None:
    """Fields that an applied configuration has twice. Raises: Refused under Strict."""
    repeated = () if field_validation == "Ignore" else duplicate_yaml_fields(call.request.body)
    said = [f'duplicate field "{path}"' for path in repeated]
    if said and field_validation == "Strict":
        raise errors.bad_request(f"error strict decoding YAML: {', '.join(said)}")
    for text in said:
        warn(text)


def _replaced_by(kind: Kind, wanted: Manifest) -> Callable[[Manifest], Manifest]:
    """A replacement, which has the uid of what it replaces if it has one."""

    def change(current: Manifest) -> Manifest:
        check_uid(kind, current["metadata"]["name"], wanted, current["metadata"]["uid"])
        return {**wanted, "metadata": dict(wanted["metadata"])}

    return change
