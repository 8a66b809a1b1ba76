"""The resource templates of bindings, looked up; of what is out of a binding's reach nothing is."""

from collections.abc import Sequence

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Problem
from leeward.api.work import Binding
from leeward.core.propagation.reach import Reach, binding_problems
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.informer import Informer
from leeward.runtime.templates import read_template


class OutOfReach(Exception):
    """A binding that names a template which it may not name; there is at least one problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class BindingTemplates:
    def __init__(self, plane: ControlPlane, reach: Reach) -> None:
        self._plane = plane
        self._reach = reach
        self._followed: dict[tuple[str, str], Informer[Manifest]] = {}
        """Informers by apiVersion and kind."""

    async def find(self, binding: Binding) -> Manifest | None:
        """None when the template is gone, or replaced by another of the same name. Raises: OutOfReach, WorldError."""
        wanted, resource = binding.spec.resource, await self._resource(binding)
        self._followed[wanted.api_version, wanted.kind] = self._plane.informers.of(resource)
        return await read_template(self._plane.server, resource, wanted)

    def known(self, binding: Binding) -> Manifest | None:
        """The template, as far as it was looked up before."""
        wanted = binding.spec.resource
        templates = self._followed.get((wanted.api_version, wanted.kind))
        return templates.get(wanted.name, wanted.namespace) if templates is not None else None

    async def _resource(self, binding: Binding) -> Resource[Manifest]:
        """Resource of the template's kind. Raises: OutOfReach, WorldError."""
        wanted = binding.spec.resource
        if problems := binding_problems(binding, self._reach):
            raise OutOfReach(problems)
        resource = await self._plane.server.discovery.resource(wanted.api_version, wanted.kind)
        if problems := binding_problems(binding, self._reach, resource.namespaced):
            raise OutOfReach(problems)
        return resource
