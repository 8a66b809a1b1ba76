"""The rule that needs to know the Secrets of clusters: no agent joins under a name of which there are others' Secrets.

They may be the credentials of a Push member that had the name: its agent would get the right to read them, and the
control plane would show them at the address that the agent names. The embedded server asks the same of its store
(`manager/agents.py`).
"""

from collections.abc import Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.untrusted import mapping_in
from leeward.api.names import AGENT_MADE_ANNOTATION, CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS, SECRETS
from leeward.client import Client, NotFound
from leeward.core.registration import problem_of_secrets, secrets_of_agent
from leeward.webhook.questions import Untold, ask, refusal_for_now
from leeward.webhook.reviews import agent_who_asks, refusal


async def judge_registering(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of an agent's new Cluster while there are Secrets of its name that the agent has not made; None where
    there is none."""
    cluster = agent_who_asks(request)
    is_cluster = mapping_in(request, "resource").get("resource") == CLUSTERS.plural
    if not cluster or not is_cluster or request.get("operation") != "CREATE":
        return None
    try:
        others = [name for name in secrets_of_agent(cluster) if not await ask(_is_agents_own(client, cluster, name))]
    except Untold as error:
        return refusal_for_now("it cannot be told whose Secrets of this name there are", error)
    return refusal(403, problem_of_secrets(cluster, others)) if others else None


async def _is_agents_own(client: Client, cluster: str, name: str) -> bool:
    """Tells whether the Secret is the agent's, or would be, as there is none yet. Raises: WorldError."""
    try:
        found = await client.get(SECRETS, name, CLUSTER_NAMESPACE)
    except NotFound:
        return True
    return found.metadata.annotations.get(AGENT_MADE_ANNOTATION) == cluster
