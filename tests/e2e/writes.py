"""Numbers of writes that a kube-apiserver has served, by resource: its own metric `apiserver_request_total`.

Heartbeats are not counted: the leases of members and of leaders, and what the server and its controller manager do for
themselves.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.servers import KubeServer

WRITES = {"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}
HEARTBEATS = {"leases", "tokenreviews", "subjectaccessreviews", "localsubjectaccessreviews"}
EVENTS = "events"
CLUSTERS = "clusters"
REFUSED = "("


@dataclass(frozen=True, slots=True)
class Writes:
    """Counts by `verb resource/subresource`; refused ones are told apart by their code."""

    by_what: Counter[str]

    @staticmethod
    def of(server: KubeServer) -> "Writes":
        counted = Counter[str]()
        for family in text_string_to_metric_families(server.metrics()):
            for sample in family.samples:
                labels = sample.labels
                if sample.name != "apiserver_request_total" or labels["verb"] not in WRITES:
                    continue
                if labels["resource"] and labels["resource"] not in HEARTBEATS:
                    counted[_what(labels)] += int(sample.value)
        return Writes(counted)

    def since(self, earlier: "Writes") -> "Writes":
        return Writes(self.by_what - earlier.by_what)

    def without(self, others: Mapping[str, int]) -> "Writes":
        """Writes without so many of these, which somebody else has made."""
        assert all(self.by_what[what] >= count for what, count in others.items()), self
        return Writes(self.by_what - Counter(others))

    @property
    def of_events(self) -> int:
        return self._of(EVENTS)

    @property
    def of_clusters(self) -> int:
        """Writes of Clusters, of which there are as many as there are clusters and minutes, whatever runs there."""
        return self._of(CLUSTERS)

    @property
    def refused(self) -> int:
        return self._of(REFUSED)

    @property
    def total(self) -> int:
        return self.by_what.total()

    def _of(self, part: str) -> int:
        return sum(count for what, count in self.by_what.items() if part in what)

    def __str__(self) -> str:
        return ", ".join(f"{count} {what}" for what, count in self.by_what.most_common()) or "none"


def _what(labels: dict[str, str]) -> str:
    subresource = f"/{labels['subresource']}" if labels["subresource"] else ""
    code = f" ({labels['code']})" if not labels["code"].startswith("2") else ""
    return f"{labels['verb']} {labels['resource']}{subresource}{code}"
