"""Questions to the control plane in the user's own name: the manifests of an application, and who has labels.

    GET /api/manifests/NAMESPACE/KIND/NAME   template, policy, binding and Works as YAML; no namespace is `-`
    GET /api/labelled?selector=              keys of the applications whose templates have these labels

The control plane judges the rights, so that a page shows no more than `kubectl get -o yaml` does. Values of Secrets are
hidden all the same, wherever they lie: in a template, and in the manifest that a Work holds.

A session asks for labels once at a time: the page takes the answer to its last question, so an earlier one ends.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from aiohttp import web

from kubeapi.codec import decode_any, encode, render_yaml
from kubeapi.errors import error_of
from kubeapi.loop import run_beside
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from kubeapi.resource import Resource
from kubeapi.selectors import parse_selector
from kubeapi.untrusted import mapping_in, mappings_in, text_in
from kubeclient import Forbidden, NotFound, WorldError
from leeward.answers.redaction import KEPT_ANNOTATIONS
from leeward.api.names import (
    CLUSTER_POLICY_NAME_ANNOTATION,
    POLICY_NAME_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
    binding_name,
    execution_space,
    work_name,
)
from leeward.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    WORKS,
)
from leeward.dashboard.answering import named_in, refusal_to_show
from leeward.dashboard.context import DashboardContext, answered, failed
from leeward.dashboard.sessions import Session
from leeward.dashboard.user_shares import TooManyAtOnce
from leeward.operations import OperationFailed
from leeward.operations.applications import application_key
from leeward.runtime.discovery import Discovery, UnknownKind

HIDDEN = "(hidden)"
MOST_WORKS, MOST_KINDS, MOST_LETTERS = 50, 30, 200_000
LABELS_SECONDS = 20.0
"""Deadline of all requests of one question about labels."""
PAGE = 500
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class ShownManifest(msgspec.Struct, frozen=True, rename="camel"):
    """`part` is its place in the application, such as `Work in fra-1`. Where it cannot be read, `problem` says why."""

    part: str
    title: str
    yaml: str = ""
    problem: str = ""


class ShownManifests(msgspec.Struct, frozen=True, rename="camel"):
    manifests: list[ShownManifest]


class Labelled(msgspec.Struct, frozen=True, rename="camel"):
    """`problems` name the kinds whose labels cannot be read."""

    keys: list[str]
    problems: list[str]


class AskedAsUser:
    def __init__(self, context: DashboardContext) -> None:
        self._context = context
        self._labels_asked: dict[str, asyncio.Timeout] = {}
        """Deadline of the question about labels that each session has now."""

    def routes(self) -> list[web.RouteDef]:
        signed_in = self._context.signed_in
        return [
            web.get("/api/manifests/{namespace}/{kind}/{name}", signed_in(self._manifests)),
            web.get("/api/labelled", signed_in(self._labelled)),
        ]

    async def _manifests(self, request: web.Request, session: Session) -> web.StreamResponse:
        kind, namespace, name = named_in(request)
        if refusal := refusal_to_show(namespace, session):
            return failed(403, refusal)
        return answered(ShownManifests([each async for each in _parts(session, kind, name, namespace)]))

    async def _labelled(self, request: web.Request, session: Session) -> web.StreamResponse:
        """Raises: OperationFailed where the selector is none."""
        text = request.query.get("selector", "")
        try:
            parse_selector(text)
        except ValueError as error:
            raise OperationFailed(f"selector {text!r}: {error}; write it as for kubectl, such as app=web") from None
        seen = self._context.follower.seen().bindings
        shown = [each for each in seen if session.sight.shows(each.namespace)]
        kinds = sorted({(each.spec.resource.api_version, each.spec.resource.kind) for each in shown})
        problems = [f"{kind}: more than {MOST_KINDS} kinds" for _, kind in kinds[MOST_KINDS:]]
        search = _LabelSearch(session, text, {application_key(each) for each in shown}, kinds[:MOST_KINDS], problems)
        deadline = asyncio.timeout(LABELS_SECONDS)
        try:
            async with deadline:
                if (earlier := self._labels_asked.get(session.id)) is not None and not earlier.expired():
                    earlier.reschedule(asyncio.get_running_loop().time())
                self._labels_asked[session.id] = deadline
                await search.run()
        except TimeoutError:
            if self._labels_asked.get(session.id) is not deadline:
                raise TooManyAtOnce("another question about labels has come from this session: ask again") from None
            problems += (f"{kind}: not read within {LABELS_SECONDS:g} seconds" for _, kind in search.kinds)
        finally:
            if self._labels_asked.get(session.id) is deadline:
                del self._labels_asked[session.id]
        return answered(Labelled(sorted(search.found), problems))


class _LabelSearch:
    """Search for applications by labels of their templates. `kinds` are those to come, `known` the keys that count."""

    def __init__(
        self, session: Session, selector: str, known: set[str], kinds: Sequence[tuple[str, str]], problems: list[str]
    ) -> None:
        self._session, self._selector, self._known = session, selector, known
        self.kinds, self.found, self.problems = list(kinds), set[str](), problems

    async def run(self) -> None:
        discovery = Discovery(self._session.client)
        while self.kinds:
            api_version, kind = self.kinds[0]
            try:
                resource = await discovery.resource(api_version, kind)
                async for key in _keys(self._session, resource, self._selector):
                    if key in self._known:
                        self.found.add(key)
            except (UnknownKind, WorldError) as error:
                self.problems.append(f"{kind}: {error}")
            del self.kinds[0]


async def _keys(session: Session, resource: Resource[Manifest], selector: str) -> AsyncIterator[str]:
    """Keys of the objects with these labels, as far as the user may list them. Raises: WorldError."""
    namespaces = ("",) if session.sight.namespaces is None or not resource.namespaced else session.sight.namespaces
    for namespace in sorted(namespaces):
        token = ""
        while True:
            query = {"labelSelector": selector, "limit": str(PAGE), **({"continue": token} if token else {})}
            response = await session.client.raw("GET", resource.path(namespace), accept=METADATA, query=query)
            if response.code >= 400:
                raise error_of(response.code, response.body)
            page = decode_any(response.body)
            for each in mappings_in(page, "items"):
                metadata = mapping_in(each, "metadata")
                yield f"{text_in(metadata, 'namespace')}/{resource.kind}/{text_in(metadata, 'name')}"
            token = text_in(mapping_in(page, "metadata"), "continue")
            if not token:
                break


async def _parts(session: Session, kind: str, name: str, namespace: str) -> AsyncIterator[ShownManifest]:
    bindings = RESOURCE_BINDINGS if namespace else CLUSTER_RESOURCE_BINDINGS
    binding, told = await _shown(session, "Binding", _untyped(bindings), binding_name(kind, name), namespace)
    spec = mapping_in(binding, "spec")
    yield await _template(session, mapping_in(spec, "resource"), kind, name, namespace)
    annotations = annotations_of(binding)
    if policy := annotations.get(POLICY_NAME_ANNOTATION):
        where = annotations.get(POLICY_NAMESPACE_ANNOTATION, "")
        yield (await _shown(session, "Policy", _untyped(PROPAGATION_POLICIES), policy, where))[1]
    elif policy := annotations.get(CLUSTER_POLICY_NAME_ANNOTATION):
        yield (await _shown(session, "Policy", _untyped(CLUSTER_PROPAGATION_POLICIES), policy, ""))[1]
    yield told
    for cluster in list(dict.fromkeys(_clusters(spec)))[:MOST_WORKS]:
        work = work_name(kind, name, namespace)
        yield (await _shown(session, f"Work in {cluster}", _untyped(WORKS), work, execution_space(cluster)))[1]


async def _template(
    session: Session, reference: Mapping[str, Any], kind: str, name: str, namespace: str
) -> ShownManifest:
    title = f"{kind} {'/'.join(filter(None, (namespace, name)))}"
    try:
        resource = await Discovery(session.client).resource(text_in(reference, "apiVersion"), kind)
    except (UnknownKind, WorldError) as error:
        return ShownManifest("Template", title, problem=str(error))
    return (await _shown(session, "Template", resource, name, namespace))[1]


async def _shown(
    session: Session, part: str, resource: Resource[Manifest], name: str, namespace: str
) -> tuple[Manifest, ShownManifest]:
    """The object as it is, and as it is shown; an empty one where it cannot be read."""
    title = f"{resource.kind} {'/'.join(filter(None, (namespace, name)))}"
    try:
        manifest = await session.client.get(resource, name, namespace)
    except Forbidden:
        return {}, ShownManifest(part, title, problem=f"{session.user} may not get {resource.plural}")
    except NotFound:
        return {}, ShownManifest(part, title, problem="it is not there")
    except WorldError as error:
        return {}, ShownManifest(part, title, problem=str(error))
    whole = {"apiVersion": resource.api_version, "kind": resource.kind, **manifest}
    text = await run_beside(_rendered, whole)
    problem = "" if text else f"it has more than {MOST_LETTERS} letters: kubectl shows it"
    return manifest, ShownManifest(part, title, text, problem)


def _rendered(manifest: ReadOnlyManifest) -> str:
    """The object as it is shown; empty where it is too large. It is not rendered where its JSON already is."""
    shown = without_secrets(manifest)
    text = render_yaml(shown) if len(encode(shown)) <= MOST_LETTERS else ""
    return text if len(text) <= MOST_LETTERS else ""


def _untyped(resource: Resource[Any]) -> Resource[Manifest]:
    return Resource.of_manifests(resource.api_version, resource.plural, resource.kind, resource.namespaced)


def _clusters(spec: ReadOnlyManifest) -> Iterator[str]:
    yield from (text_in(each, "name") for each in mappings_in(spec, "clusters"))
    yield from (text_in(each, "fromCluster") for each in mappings_in(spec, "gracefulEvictionTasks"))


def without_secrets(manifest: ReadOnlyManifest) -> Manifest:
    """The object without the values of Secrets, and without the record of who manages which field.

    Annotations of a Secret, or of a Work that holds one, may repeat its values: those stay that decisions read.
    """
    shown = _hidden(manifest)
    if _holds_secret(manifest):
        kept = {key: value if key in KEPT_ANNOTATIONS else HIDDEN for key, value in annotations_of(manifest).items()}
        shown["metadata"] = {**mapping_in(shown, "metadata"), "annotations": kept}
    return shown


def _holds_secret(value: object) -> bool:
    if isinstance(value, Mapping):
        found = cast(Mapping[str, Any], value)
        return found.get("kind") == "Secret" or any(map(_holds_secret, found.values()))
    return isinstance(value, list) and any(map(_holds_secret, cast(list[object], value)))


def _hidden(value: Any) -> Any:
    if isinstance(value, list):
        return [_hidden(each) for each in cast(list[object], value)]
    if not isinstance(value, Mapping):
        return value
    found = cast(Mapping[str, Any], value)
    shown = {key: _hidden(each) for key, each in found.items() if key != "managedFields"}
    if found.get("kind") == "Secret" and "metadata" in found:
        for part in ("data", "stringData"):
            if part in found:
                shown[part] = dict.fromkeys(mapping_in(found, part), HIDDEN)
        annotations = mapping_in(mapping_in(found, "metadata"), "annotations")
        kept = {key: each if key in KEPT_ANNOTATIONS else HIDDEN for key, each in annotations.items()}
        shown["metadata"] = {**shown["metadata"], **({"annotations": kept} if kept else {})}
    return shown
