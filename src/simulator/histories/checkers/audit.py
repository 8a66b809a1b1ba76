"""The audit of the control plane's API server: every answer and every line of a watch, as they leave it."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from kubeclient import Request, Response
from kubecluster.journal import Journal
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from simulator.histories.checkers.answers import AnswersChecker
from simulator.histories.checkers.ledger import Ledger
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.checkers.watches import WatchesChecker


class ServerAudit:
    """`of` is a `Place.audit`; what is wrong is given to `found`."""

    def __init__(self, scene: Scene, journal: Journal, found: Callable[[Iterable[Violation]], None]) -> None:
        self._ledger = Ledger()
        self._ledger.listen(journal)
        self._found = found
        self._answers = AnswersChecker(scene, self._ledger)
        self._watches = WatchesChecker(scene, self._ledger)

    async def of(self, request: Request, handle: Callable[[], Answering]) -> Response | StreamResponse:
        """Answers, and looks at the answer."""
        asked_at = self._ledger.newest
        answer = await handle()
        if isinstance(answer, Response):
            self._found(self._answers.look(request, answer, asked_at))
            return answer
        return replace(answer, lines=self._watches.follow(request, answer.lines, self._found))
