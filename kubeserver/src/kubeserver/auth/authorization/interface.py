"""The seam: somebody who decides."""

from dataclasses import dataclass
from typing import Protocol

from kubeserver.auth.authorization.attributes import Attributes
from kubeserver.handler import User


@dataclass(frozen=True, slots=True)
class Decision:
    """`reason`: the binding that allows it, or why a binding could not be followed."""

    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    def decide(self, user: User, attributes: Attributes) -> Decision: ...
