"""The rule that needs to know the writer's rights: who says where a member's token is sent may read that token.

The control plane is asked what the writer may do (SubjectAccessReview). While it does not tell, a Cluster whose Secrets
or addresses change is refused: whoever writes it tries again. Other writes are not asked about.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in
from leeward.api.resource import CLUSTERS
from leeward.client import Client
from leeward.core.member_credentials import ExposedSecret, exposed_secrets, exposure_refusal
from leeward.webhook.questions import Untold, ask, refusal_for_now
from leeward.webhook.reviews import refusal

REVIEWS: Resource[Manifest] = Resource.of_manifests(
    "authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", False
)


async def judge_credentials(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of a Cluster whose writer may not read the Secrets that it shows; None where there is none."""
    who, resource = mapping_in(request, "userInfo"), mapping_in(request, "resource").get("resource")
    if resource != CLUSTERS.plural or request.get("operation") == "DELETE":
        return None
    shown = exposed_secrets(
        mapping_in(request, "object"), mapping_in(request, "oldObject") or None, who.get("groups") or ()
    )
    try:
        hidden = await ask(_hidden(client, who, shown))
    except Untold as error:
        return refusal_for_now("it cannot be told whether you may read the Secrets of this Cluster", error)
    return (
        refusal(403, "; ".join(exposure_refusal(who.get("username", ""), each) for each in hidden)) if hidden else None
    )


async def _hidden(client: Client, who: Mapping[str, Any], shown: Iterable[ExposedSecret]) -> list[ExposedSecret]:
    """Secrets that the writer may not read. Raises: WorldError."""
    return [secret for secret in shown if not await _may_read(client, who, secret)]


async def _may_read(client: Client, who: Mapping[str, Any], secret: ExposedSecret) -> bool:
    """Raises: WorldError."""
    asked = {"verb": "get", "group": "", "resource": "secrets", "namespace": secret.namespace, "name": secret.name}
    spec: Manifest = {
        "user": who.get("username", ""),
        "groups": list(who.get("groups") or ()),
        "uid": who.get("uid", ""),
        "extra": dict(who.get("extra") or {}),
        "resourceAttributes": asked,
    }
    review = await client.create(REVIEWS, {"spec": spec})
    return bool(mapping_in(review, "status").get("allowed"))
