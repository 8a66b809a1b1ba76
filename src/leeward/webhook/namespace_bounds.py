"""The rule that needs to know the other policies: a namespace has a bounded number of them.

The API server counts: it is asked for one object, and says how many more there are. Who deletes policies, or changes
one, is not asked. While the control plane does not tell, one policy more is let through: the bound is there against
thousands, and what cannot be counted is no reason to keep an application from its place. Those that are written at
the same moment do not see each other.
"""

import logging
from collections.abc import Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in
from leeward.api.resource import OVERRIDE_POLICIES, PROPAGATION_POLICIES
from leeward.api.rules import bounds
from leeward.client import Client
from leeward.webhook.questions import Untold, ask
from leeward.webhook.reviews import refusal

log = logging.getLogger(__name__)

_COUNTED = {
    (policy.group, policy.plural): Resource.of_manifests(policy.api_version, policy.plural, policy.kind, True)
    for policy in (PROPAGATION_POLICIES, OVERRIDE_POLICIES)
}
"""Resources as plain objects: one that cannot be read as a policy counts, too."""


async def judge_policy_count(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of a policy whose namespace has as many as it may have; None where there is none."""
    resource, namespace = mapping_in(request, "resource"), str(request.get("namespace") or "")
    counted = _COUNTED.get((resource.get("group", ""), resource.get("resource", "")))
    if counted is None or not namespace or request.get("operation") != "CREATE":
        return None
    try:
        there = await ask(client.list(counted, namespace, limit=1))
    except Untold as error:
        log.warning("the %s of namespace %s were not counted: %s", counted.plural, namespace, error)
        return None
    problem = bounds.policy_count_problem(namespace, counted.plural, len(there.items) + there.remaining)
    return refusal(422, str(problem)) if problem else None
