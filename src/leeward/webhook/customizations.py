"""The rule that needs to know the other customizations: each question about a kind has one script that answers it.

What is no text of Lua is refused as well; no script is run. While the control plane does not tell which customizations
there are, one that could be right is refused: whoever writes it tries again. Two that are written at the same moment
do not see each other.

Karmada: pkg/webhook/resourceinterpretercustomization; same.
"""

from collections.abc import Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in
from leeward.api.resource import RESOURCE_INTERPRETER_CUSTOMIZATIONS
from leeward.client import Client
from leeward.lua.checking import customization_problems
from leeward.webhook.questions import Untold, ask, every, refusal_for_now
from leeward.webhook.reviews import refusal

_KIND = RESOURCE_INTERPRETER_CUSTOMIZATIONS
_MANIFESTS = Resource.of_manifests(_KIND.api_version, _KIND.plural, _KIND.kind, False)
"""Resource of plain manifests: what cannot be read among the others answers nothing, and hides none of them."""


async def judge_customization(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of a customization with broken scripts, or scripts for questions of another; None without."""
    resource = mapping_in(request, "resource")
    asked = resource.get("group"), resource.get("resource")
    if asked != (_KIND.group, _KIND.plural) or request.get("operation") == "DELETE":
        return None
    given = mapping_in(request, "object")
    problems = customization_problems(given, ())
    if not problems:
        try:
            problems = customization_problems(given, await ask(every(client, _MANIFESTS)))
        except Untold as error:
            return refusal_for_now("it cannot be told what other customizations answer", error)
    return refusal(422, "; ".join(map(str, problems))) if problems else None
