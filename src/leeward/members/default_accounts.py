"""The service account controller: every Namespace has an account `default`, as long as it does not end.

Kubernetes: pkg/controller/serviceaccount; same.
"""

from datetime import datetime

from kubeapi.meta import Manifest
from leeward.client import AlreadyExists
from leeward.core.interpreter.fields import text_at
from leeward.members.kinds import CORE_NAMESPACES, SERVICE_ACCOUNTS
from leeward.members.platform import Platform
from leeward.members.rules.pods import is_leaving
from leeward.runtime.identity import Key

DEFAULT_ACCOUNT = "default"


class DefaultAccountsController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._namespaces = platform.informer(CORE_NAMESPACES)
        self._accounts = platform.informer(SERVICE_ACCOUNTS)
        self._controller = platform.controller("serviceaccount", self.reconcile)

    def start(self) -> None:
        self._platform.follow(CORE_NAMESPACES, self._controller.queue)
        self._accounts.on_change(self._account_changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        namespace = self._namespaces.get(key.name)
        if namespace is None or is_leaving(namespace) or self._accounts.get(DEFAULT_ACCOUNT, key.name) is not None:
            return None
        account = {"metadata": {"name": DEFAULT_ACCOUNT, "namespace": key.name}}
        try:
            await self._platform.create(SERVICE_ACCOUNTS, account)
        except AlreadyExists:
            return None
        return None

    def _account_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and new is None and text_at(old, "metadata", "name") == DEFAULT_ACCOUNT:
            self._controller.queue.add(Key("", old["metadata"]["namespace"]))
