"""Secrets of the type `kubernetes.io/service-account-token`: a token that lasts as long as the Secret.

Who makes such a Secret for an account finds in it a token, the certificate authority and the namespace. One for an
account that is not there, or not the same any more, goes: nobody could use it. The token is bound to the Secret, so
that it ends with it; it ends with its account in any case.

Kubernetes: pkg/controller/serviceaccount/tokens_controller.go; the same rules. There the token says nothing of an end,
here it ends after so many years that nobody will see it.
"""

import base64
import logging
from contextlib import aclosing
from datetime import datetime

from kubeapi import codec
from kubeapi.loop import Randomness
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.auth.tokens.accounts import AUDIENCES, ISSUER, ServiceAccountTokens, uid_of
from kubeserver.auth.tokens.jwt import Claims, Kubernetes, Reference
from kubeserver.controllers.changes import changes
from kubeserver.errors import Refused
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.kinds.configuration import ACCOUNT_ANNOTATION, TOKEN_TYPE
from kubeserver.kinds.kind import Kind
from kubeserver.registry.deleting import DeleteOptions, Deleter
from kubeserver.registry.writing import Writer
from kubeserver.store import Record, StoreFailed
from kubeserver.values import section

log = logging.getLogger(__name__)

UID_ANNOTATION = "kubernetes.io/service-account.uid"
LIFETIME_SECONDS = 1 << 32
_SECRETS, _ACCOUNTS = "//secrets/", "//serviceaccounts/"
_CONTROLLER = User("system:serviceaccount:kube-system:token-controller", (ADMIN_GROUP,))


class TokenSecrets:
    """Run it where accounts are to have such Secrets. `authority` is the server's own, PEM; empty to name none."""

    def __init__(
        self, writer: Writer, secrets: Kind, tokens: ServiceAccountTokens, randomness: Randomness, authority: bytes
    ) -> None:
        self._writer = writer
        self._kind = secrets
        self._tokens = tokens
        self._randomness = randomness
        self._authority = authority
        self._deleter = Deleter(writer)

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        async with aclosing(changes(self._writer.store, concerns=_concerns)) as records:
            async for record in records:
                try:
                    await self._look_at(record)
                except (Refused, StoreFailed) as error:
                    log.warning("token secrets: %s: %s", record.key, error)

    async def _look_at(self, record: Record) -> None:
        if record.key.startswith(_SECRETS) and not record.deleted:
            await self._settle(codec.decode_manifest(record.value))
        elif record.key.startswith(_ACCOUNTS) and record.deleted:
            namespace, name = record.key.removeprefix(_ACCOUNTS).split("/")
            for secret in self._secrets_of(namespace, name):
                await self._settle(secret)

    def _secrets_of(self, namespace: str, account: str) -> list[Manifest]:
        records = self._writer.store.list(f"{_SECRETS}{namespace}/").records
        secrets = (codec.decode_manifest(record.value) for record in records)
        return [secret for secret in secrets if _account_of(secret) == account]

    async def _settle(self, secret: ReadOnlyManifest) -> None:
        """Fills a Secret that waits for its token, and takes away one without an account."""
        metadata, name = secret["metadata"], _account_of(secret)
        if secret.get("type") != TOKEN_TYPE or "deletionTimestamp" in metadata:
            return
        account = self._writer.store.head(f"{_ACCOUNTS}{metadata['namespace']}/{name}")
        expected = section(metadata, "annotations").get(UID_ANNOTATION)
        if account is None or (expected and expected != uid_of(account)):
            await self._delete(metadata)
        elif not section(secret, "data").get("token"):
            await self._fill(metadata, Reference(name, uid_of(account)))

    async def _delete(self, metadata: ReadOnlyManifest) -> None:
        options = DeleteOptions(uid=metadata["uid"])
        try:
            await self._deleter.delete(self._kind, metadata["namespace"], metadata["name"], options, _CONTROLLER)
        except Refused as refusal:
            if refusal.status.code not in (404, 409):
                raise

    async def _fill(self, metadata: ReadOnlyManifest, account: Reference) -> None:
        namespace, secret = metadata["namespace"], Reference(metadata["name"], metadata["uid"])
        now, identifier = self._writer.clock.now(), self._randomness.uid()
        token = self._tokens.issue(_claims(Kubernetes(namespace, account, secret=secret), now, identifier))
        content = {"token": token.encode(), "namespace": namespace.encode(), "ca.crt": self._authority}
        data = {key: base64.b64encode(value).decode() for key, value in content.items() if value}

        def change(current: Manifest) -> Manifest:
            if current["metadata"]["uid"] != secret.uid:
                return current
            annotations = {**section(current["metadata"], "annotations"), UID_ANNOTATION: account.uid}
            filled = {**current["metadata"], "annotations": annotations}
            return {**current, "metadata": filled, "data": {**data, **section(current, "data")}}

        await self._writer.change(self._kind, namespace, secret.name, change, _CONTROLLER, dry_run=False)


def _concerns(record: Record) -> bool:
    """Tells whether it is a Secret, or was an account."""
    return record.key.startswith(_ACCOUNTS if record.deleted else _SECRETS)


def _account_of(secret: ReadOnlyManifest) -> str:
    return str(section(secret["metadata"], "annotations").get(ACCOUNT_ANNOTATION, ""))


def _claims(scope: Kubernetes, now: datetime, identifier: str) -> Claims:
    born = int(now.timestamp())
    subject = f"system:serviceaccount:{scope.namespace}:{scope.serviceaccount.name}"
    return Claims(AUDIENCES, born + LIFETIME_SECONDS, born, ISSUER, identifier, born, subject, scope)
