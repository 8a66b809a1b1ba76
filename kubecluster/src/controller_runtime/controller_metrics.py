"""The metrics of the controllers of a process, under controller-runtime's names, in a registry of its own."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest


class ControllerMetrics:
    """One registry; parts of a process share it, worlds in a test do not."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._reconciles = Counter(
            "controller_runtime_reconcile", "Reconciliations", ("controller", "result"), registry=self.registry
        )
        self._reconciled: dict[tuple[str, str], tuple[Counter, Histogram]] = {}
        """The series that are there already: to look one up by its labels takes longer than to count."""
        self._durations = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of reconciliations",
            ("controller",),
            registry=self.registry,
        )

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        series = self._reconciled.get((controller, result))
        if series is None:
            series = self._reconciles.labels(controller, result), self._durations.labels(controller)
            self._reconciled[controller, result] = series
        count, duration = series
        count.inc()
        duration.observe(seconds)

    def render(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry)
