"""Signatures of `kube-public/cluster-info` by bootstrap tokens: `jws-kubeconfig-ID`, one for each token that may sign.

Who has a token can tell by its signature that the ConfigMap was not made up by somebody between them and the server.
All are made anew when a token comes or goes, or the ConfigMap changes. Without the ConfigMap nothing is signed.

Kubernetes: pkg/controller/bootstrap/bootstrapsigner.go; the same tokens and the same signatures.
"""

import logging
from contextlib import aclosing

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.auth.tokens.bootstrap import PREFIX, detached_signature, signing_tokens
from kubeserver.controllers.changes import changes
from kubeserver.errors import Refused
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.kinds.kind import Kind
from kubeserver.registry.writing import Writer
from kubeserver.store import Record, StoreFailed
from kubeserver.values import section

log = logging.getLogger(__name__)

NAMESPACE, NAME, CONTENT = "kube-public", "cluster-info", "kubeconfig"
SIGNATURE_PREFIX = "jws-kubeconfig-"
_KEY = f"//configmaps/{NAMESPACE}/{NAME}"
_CONTROLLER = User("system:serviceaccount:kube-system:bootstrap-signer", (ADMIN_GROUP,))


class BootstrapSigner:
    """Run it where who has a bootstrap token is to find out whom they speak with. `kind` is that of ConfigMaps."""

    def __init__(self, writer: Writer, kind: Kind) -> None:
        self._writer = writer
        self._kind = kind

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        async with aclosing(changes(self._writer.store, concerns=_concerns)) as records:
            async for record in records:
                if _concerns(record):
                    try:
                        await self._sign()
                    except (Refused, StoreFailed) as error:
                        log.warning("bootstrap signer: %s", error)

    async def _sign(self) -> None:
        """Raises: Refused, StoreFailed."""
        record = self._writer.store.get(_KEY)
        if record is not None and not is_equal(self._signed(manifest := codec.decode_manifest(record.value)), manifest):
            await self._writer.change(self._kind, NAMESPACE, NAME, self._signed, _CONTROLLER, dry_run=False)

    def _signed(self, info: ReadOnlyManifest) -> Manifest:
        """`info` with the signatures of the tokens that there are; none where it says nothing."""
        data = section(info, "data")
        content = data.get(CONTENT, "")
        kept = {key: value for key, value in data.items() if not key.startswith(SIGNATURE_PREFIX)}
        tokens = signing_tokens(self._writer.store, self._writer.clock.now()) if content else {}
        signatures = {
            SIGNATURE_PREFIX + token_id: detached_signature(content, token_id, secret)
            for token_id, secret in tokens.items()
        }
        return {**info, "data": {**kept, **signatures}} if data else dict(info)


def _concerns(record: Record) -> bool:
    return record.key == _KEY or record.key.startswith(PREFIX)
