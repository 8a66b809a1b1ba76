"""Templates that the detector has done with: what they asked for then, so that a change of their status is none.

Only where the built-in rules say how many replicas a template asks for, which do not read its status. What is not known
here is looked at: who is forgotten is looked at once more.
"""

from operator import eq

from controller_runtime import StayingObjects
from kubeapi.meta import Manifest
from leeward.core.interpreter.scripts import Operation
from leeward.core.propagation.digest import template_digest
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.templates import TemplateKey


class DetectedTemplates:
    def __init__(self, plane: ControlPlane) -> None:
        self._interpreter = plane.interpreter
        self._digests = StayingObjects[TemplateKey, str](eq)

    async def note(self, key: TemplateKey, template: Manifest) -> None:
        """Notes a template as it will be when what is done for it now has succeeded."""
        for operation in (Operation.REPLICA, Operation.COMPONENT):
            if await self._interpreter.is_customized(template, operation):
                return
        self._digests.put(key, template_digest(template))

    def forget(self, key: TemplateKey) -> None:
        self._digests.forget(key)

    def has(self, key: TemplateKey, template: Manifest) -> bool:
        """Tells whether nothing is to be done for a template but what was done, or is being done."""
        return self._digests.has(key, lambda: template_digest(template))
