"""The demonstration live in a terminal: clusters and replicas as they change, and a time line."""

from types import TracebackType
from typing import Self

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from leeward.app.demo.scene import Scene
from leeward.app.demo.story import Sight, Story
from leeward.cli.demo_plain import offset, verdicts


class LiveAudience:
    """Use it as a context manager: the screen is its own until then."""

    def __init__(self, story: Story, scene: Scene, console: Console | None = None) -> None:
        self._story = story
        self._scene = scene
        self._console = console or Console()
        self._time_line: list[Text] = []
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def begin(self, chapter: str) -> None:
        self._time_line.append(Text(chapter, style="bold"))

    def see(self, sight: Sight) -> None:
        style = "green" if sight.is_expected else "bold red"
        self._time_line.append(Text(f"  {offset(sight):>8}  {sight.step.title}: ").append(sight.seen, style))

    def tick(self, now: float) -> None:
        self._live.update(self.render(now), refresh=True)

    def conclude(self) -> None:
        """The table of expectations and observations, after the screen was given back."""
        table = Table(box=box.SIMPLE_HEAD)
        for title in ("chapter", "time", "step", "expected", "seen", ""):
            table.add_column(title, overflow="fold")
        for *cells, verdict in verdicts(self._story):
            table.add_row(*cells, Text(verdict, "green" if verdict == "ok" else "bold red"))
        self._console.print(table)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def render(self, now: float) -> Group:
        clock = Text(f"{self._story.chapter} +{self._story.elapsed(now):.1f} s", style="bold cyan")
        return Group(
            Panel(self._clusters(), title="clusters", title_align="left"),
            Panel(Group(*self._time_line), title="time line", title_align="left"),
            clock,
        )

    def _clusters(self) -> Table:
        table = Table("cluster", "Ready", "taints", "nginx", box=None, expand=True)
        for name, cluster in sorted(self._scene.clusters.items()):
            health = self._scene.health(name)
            style = "green" if health == "True" else "bold red"
            reason = cluster.ready.reason if cluster.ready is not None else ""
            taints = "\n".join(self._scene.taints(name))
            table.add_row(name, Text(f"{health} {reason}", style), Text(taints, "yellow"), self._replicas(name))
        return table

    def _replicas(self, cluster: str) -> Text:
        """A square for each replica that is assigned: filled when it is ready there, as far as can be seen."""
        scene = self._scene
        assigned, ready = scene.assigned.get(cluster, 0), scene.ready_replicas(cluster)
        if scene.health(cluster) != "True" and cluster in scene.deployments:
            text = Text(f"{ready} when last seen", "dim")
        else:
            shown = min(ready, assigned)
            text = Text("■" * shown, "green").append("□" * (assigned - shown), "yellow").append(f" {ready}/{assigned}")
        return text.append("  being left", "magenta") if cluster in scene.being_left else text
