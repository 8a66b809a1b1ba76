"""Objects that every Namespace has, as long as it does not end: the account `default`, and the ConfigMap
`kube-root-ca.crt`, in which Pods find by whom the certificate of their API server was signed.

Kubernetes: pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher; same."""

from datetime import datetime

from controller_runtime import Key
from kubeapi.meta import Manifest
from kubeapi.unstructured import mapping_at, text_at
from kubeclient import AlreadyExists
from kubecluster.kinds import CONFIG_MAPS, CORE_NAMESPACES, SERVICE_ACCOUNTS
from kubecluster.platform import Platform
from kubecluster.rules.pods import is_leaving
from kubecluster.settings import WorkloadSettings

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


ROOT_CERTIFICATES = "kube-root-ca.crt"
_DESCRIPTION = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using "
    "internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "
    "distributions of Kubernetes clusters."
}


class RootCertificatesController:
    def __init__(self, platform: Platform, settings: WorkloadSettings) -> None:
        self._platform = platform
        self._data = {"ca.crt": settings.root_certificates}
        self._namespaces = platform.informer(CORE_NAMESPACES)
        self._config_maps = platform.informer(CONFIG_MAPS)
        self._controller = platform.controller("root-ca-certificate-publisher", self.reconcile)

    def start(self) -> None:
        self._platform.follow(CORE_NAMESPACES, self._controller.queue)
        self._config_maps.on_change(self._config_map_changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        namespace = self._namespaces.get(key.name)
        if namespace is None or is_leaving(namespace):
            return None
        seen = self._config_maps.get(ROOT_CERTIFICATES, key.name)
        if seen is None:
            await self._publish(key.name)
        elif mapping_at(seen, "data") != self._data:
            removed = dict.fromkeys(mapping_at(seen, "data"))
            await self._platform.patch(CONFIG_MAPS, seen, {"data": {**removed, **self._data}})
        return None

    async def _publish(self, namespace: str) -> None:
        metadata = {"name": ROOT_CERTIFICATES, "namespace": namespace, "annotations": _DESCRIPTION}
        try:
            await self._platform.create(CONFIG_MAPS, {"metadata": metadata, "data": self._data})
        except AlreadyExists:
            return

    def _config_map_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        seen = new or old or {}
        if text_at(seen, "metadata", "name") == ROOT_CERTIFICATES:
            self._controller.queue.add(Key("", seen["metadata"]["namespace"]))
