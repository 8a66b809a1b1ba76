"""Status of ResourceQuotas: how many objects there are of the kinds that they count.

Kubernetes: pkg/controller/resourcequota; the same for names that `registry.room` counts. Other names of a quota get no
`used`.
"""

import asyncio
import logging
from contextlib import aclosing

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeserver.controllers.changes import changes
from kubeserver.controllers.garbage import COLLECTOR
from kubeserver.errors import Refused
from kubeserver.kinds.scheme import Scheme
from kubeserver.registry.room import QUOTAS, hard_limits, names_in_quotas
from kubeserver.registry.writing import Writer
from kubeserver.store import Record, Store, StoreFailed
from kubeserver.values import section

log = logging.getLogger(__name__)

SETTLING_SECONDS = 0.5
"""Pause after a status is written: many objects come at once."""


class QuotaStatus:
    """Writes the status of each quota as the objects in its namespace come and go."""

    def __init__(self, store: Store, scheme: Scheme, writer: Writer) -> None:
        self._store = store
        self._scheme = scheme
        self._writer = writer
        self._quotas = scheme.kind_of("", "resourcequotas")

    async def run(self) -> None:
        """Works until it is cancelled."""
        async with aclosing(changes(self._store, concerns=self._concerns)) as records:
            async for record in records:
                for quota in self._of_namespace(record):
                    try:
                        if await self._write(quota):
                            await asyncio.sleep(SETTLING_SECONDS)
                    except (Refused, StoreFailed) as error:
                        log.warning("quotas: %s: %s", record.key, error)
                        await asyncio.sleep(SETTLING_SECONDS)

    def _concerns(self, record: Record) -> bool:
        return self._has_quotas(record)

    def _of_namespace(self, record: Record) -> list[Manifest]:
        if not self._has_quotas(record):
            return []
        namespace, room = record.key.split("/")[3], self._writer.room
        found = [codec.decode_manifest(each.value) for each in self._store.list(f"{QUOTAS}{namespace}/").records]
        return [quota for quota in found if room is None or room.bounds.holds_here(quota)]

    def _has_quotas(self, record: Record) -> bool:
        """Tells whether there are quotas in the namespace of a record: asked for each that is written."""
        namespace = record.key.split("/")[3]
        return bool(namespace and self._store.usage.objects_of(QUOTAS, namespace))

    async def _write(self, quota: Manifest) -> bool:
        """Tells whether there was something to write."""
        namespace, wanted = quota["metadata"]["namespace"], self._status(quota)
        if not wanted["used"] or is_equal(section(quota, "status"), wanted):
            return False
        name = quota["metadata"]["name"]
        await self._writer.change(
            self._quotas,
            namespace,
            name,
            lambda found: {**found, "status": wanted},
            COLLECTOR,
            dry_run=False,
            subresource="status",
        )
        return True

    def _status(self, quota: Manifest) -> Manifest:
        counts = dict[str, str]()
        for kind in self._scheme.stored_kinds():
            there = self._store.usage.objects_of(kind.prefix, quota["metadata"]["namespace"])
            counts |= dict.fromkeys(hard_limits(quota, names_in_quotas(kind.group, kind.plural)), str(there))
        return {"hard": section(section(quota, "spec"), "hard"), "used": dict(sorted(counts.items()))}
