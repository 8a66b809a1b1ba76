"""Secret and ServiceAccount: tokens are made by each cluster for itself."""

from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.core.interpreter.fields import drop, list_at, put, take, text_at
from leeward.core.interpreter.rules import Rules

_TOKEN_TYPE = "kubernetes.io/service-account-token"
_UID_ANNOTATION = "kubernetes.io/service-account.uid"


def _is_token(manifest: ReadOnlyManifest) -> bool:
    return text_at(manifest, "type") == _TOKEN_TYPE


def _retain_secret(desired: Manifest, observed: ReadOnlyManifest) -> None:
    if _is_token(desired):
        take(desired, observed, "data")


def _prune_secret(manifest: Manifest) -> None:
    if _is_token(manifest):
        drop(manifest, "data")
        drop(manifest, "metadata", "annotations", _UID_ANNOTATION)


def _retain_service_account(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """The member adds its own tokens to what is desired."""
    for field in ("secrets", "imagePullSecrets"):
        wanted, present = list_at(desired, field), list_at(observed, field)
        names = {text_at(secret, "name") for secret in wanted}
        added = [secret for secret in present if text_at(secret, "name") not in names]
        if wanted or added:
            put(desired, [*wanted, *added], field)


def _prune_service_account(manifest: Manifest) -> None:
    prefix = f"{text_at(manifest, 'metadata', 'name')}-token-"
    secrets = list_at(manifest, "secrets")
    kept: list[Any] = [secret for secret in secrets if not text_at(secret, "name").startswith(prefix)]
    if len(kept) < len(secrets):
        put(manifest, kept, "secrets")


SECRET = Rules(retain=_retain_secret, prune=_prune_secret)
SERVICE_ACCOUNT = Rules(retain=_retain_service_account, prune=_prune_service_account)
