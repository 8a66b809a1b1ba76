"""The resource templates of bindings, looked up; of what is out of a binding's reach nothing is.

A template may have changed since the detector wrote its binding, and change back before the detector comes to write
that: then nothing more is written, and what was rendered meanwhile would stay. So a binding whose template is ahead of
it is looked at with the template's next change.
"""

from collections.abc import Callable, Sequence
from functools import partial

from controller_runtime import Informer, Key, key_of
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Problem
from kubeapi.unstructured import mapping_at, text_at
from kubeclient import NotServed
from leeward.api.names import TEMPLATE_DIGEST_ANNOTATION
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.work import Binding, Work, is_custom
from leeward.core.copies.job_copies import is_job
from leeward.core.eviction.shared_resources import has_shared, lets_shared_go
from leeward.core.execution.ownership import template_uids
from leeward.core.propagation.claiming import claimed_by, standing_claim
from leeward.core.propagation.digest import template_digest
from leeward.core.propagation.reach import Reach, binding_problems
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.templates import TemplateKey, read_template

DEFINITIONS = Resource.of_manifests(
    "apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)


class OutOfReach(Exception):
    """A binding that names a template which it may not name; there is at least one problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class BindingTemplates:
    """`look` has a binding looked at."""

    def __init__(self, plane: ControlPlane, reach: Reach, look: Callable[[Key], None]) -> None:
        self._plane = plane
        self._reach = reach
        self._look = look
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._followed: dict[tuple[str, str], Informer[Manifest]] = {}
        """Informers by apiVersion and kind."""
        self._ahead: dict[TemplateKey, Key] = {}
        """Bindings that were looked at with another template than the one that they were written for."""

    async def find(self, binding: Binding) -> Manifest | None:
        """None when the template is gone, or replaced by another of the same name. Raises: OutOfReach, WorldError."""
        wanted, resource = binding.spec.resource, await self._resource(binding)
        kind = (wanted.api_version, wanted.kind)
        if kind not in self._followed:
            self._followed[kind] = self._plane.informers.of(resource)
            self._followed[kind].on_change(partial(self._template_changed, *kind))
        template = await read_template(self._plane.server, resource, wanted)
        written_for = binding.metadata.annotations.get(TEMPLATE_DIGEST_ANNOTATION)
        if template is not None and written_for is not None and template_digest(template) != written_for:
            self._ahead[TemplateKey(*kind, key_of(template))] = key_of(binding)
        return template

    async def releases(self, binding: Binding) -> bool:
        """Tells whether a deleted binding releases what it preserves: nothing asks for another one of its template.

        Raises: WorldError.
        """
        return bool(binding.spec.preserve_resources_on_deletion) and not await self.outlives(binding, alive=True)

    async def outlives(self, binding: Binding, *, alive: bool = False) -> bool:
        """Tells whether the template of a binding that is deleted stays, and is claimed or needed by others: the next
        binding will be made of it. Only the API server can say so. `alive`: what is itself deleted needs nothing.

        Raises: WorldError.
        """
        wanted = binding.spec.resource
        try:
            template = await self._plane.client.find(await self._resource(binding), wanted.name, wanted.namespace)
        except OutOfReach:
            return False
        except (UnknownKind, NotServed):
            return not await self.is_undefined(wanted.api_version, wanted.kind)
        if template is None or template["metadata"]["uid"] != wanted.uid or "deletionTimestamp" in template["metadata"]:
            return False
        dependants = (self._bindings.get(each.name, each.namespace) for each in binding.spec.required_by)
        return bool(standing_claim(template, binding)) or any(_needs(each, alive=alive) for each in dependants)

    async def keeps(self, work: Work) -> bool:
        """Tells whether a Work without a binding stays: its templates are still there, and claimed, or others live in
        them. Raises: UnknownKind, NotServed, WorldError."""
        shared = has_shared(work)
        for manifest in work.spec.workload.manifests:
            resource = await self._plane.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
            template = await self._plane.client.find(resource, key_of(manifest).name, key_of(manifest).namespace)
            if template is None or template["metadata"]["uid"] not in template_uids((manifest,)):
                return False
            is_going = "deletionTimestamp" in template["metadata"]
            if not shared and (is_going or is_job(template) or not claimed_by(template)):
                return False
        return True

    async def is_undefined(self, api_version: str, kind: str) -> bool:
        """Tells whether a kind that is not served has no definition any more, and so no objects. Of a kind that never
        had one, or whose definition is there, nobody knows that. Raises: WorldError."""
        if not is_custom(api_version):
            return False
        specs = [mapping_at(each, "spec") for each in (await self._plane.client.list(DEFINITIONS)).items]
        defined = {(text_at(spec, "group"), text_at(spec, "names", "kind")) for spec in specs}
        return (api_version.rpartition("/")[0], kind) not in defined

    def known(self, binding: Binding) -> Manifest | None:
        """The template, as far as it was looked up before."""
        wanted = binding.spec.resource
        templates = self._followed.get((wanted.api_version, wanted.kind))
        return templates.get(wanted.name, wanted.namespace) if templates is not None else None

    def _template_changed(self, api_version: str, kind: str, old: Manifest | None, new: Manifest | None) -> None:
        template = new or old
        binding = self._ahead.pop(TemplateKey(api_version, kind, key_of(template)), None) if template else None
        if binding is not None:
            self._look(binding)

    async def _resource(self, binding: Binding) -> Resource[Manifest]:
        """Resource of the template's kind. Raises: OutOfReach, WorldError."""
        wanted = binding.spec.resource
        if problems := binding_problems(binding, self._reach):
            raise OutOfReach(problems)
        resource = await self._plane.server.discovery.resource(wanted.api_version, wanted.kind)
        if problems := binding_problems(binding, self._reach, resource.namespaced):
            raise OutOfReach(problems)
        return resource


def _needs(dependant: Binding | None, *, alive: bool) -> bool:
    """Tells whether a dependant keeps the objects of the binding that it needs. With `alive` a deleted one keeps none.
    A dependant that is gone was deleted as well, and may be made again."""
    if dependant is None:
        return not alive
    return dependant.metadata.deletion_timestamp is None if alive else not lets_shared_go(dependant)
