"""The report of an outage names no application that its reader may not see."""

from kubeapi.meta import ObjectMeta
from leeward.answers.outage_report import report
from leeward.api.outage import ClusterOutage, MoveState, OutageApplication, OutageSpec, OutageStatus
from leeward.dashboard.rights import WHOLE_SIGHT, FleetSight
from leeward.dashboard.views.outage_rows import told_outage
from tests.builders import at, cluster, dead
from tests.fleet_pictures import picture_of

OPEN = FleetSight(clusters=True, outages=True, namespaces=frozenset({"open"}))


def moved(namespace: str) -> OutageApplication:
    return OutageApplication("Deployment", "web", MoveState.MOVED, namespace, 2, {"b": 2}, left_at=at(90))


OUTAGE = ClusterOutage(
    metadata=ObjectMeta(name="a-1"),
    spec=OutageSpec(cluster="a", since=at(0)),
    status=OutageStatus(applications=2, moved=2, listed=(moved("open"), moved("closed"))),
)


def told_to(sight: FleetSight) -> str:
    return report(told_outage(picture_of([dead("a"), cluster("b")], [], outages=[OUTAGE]), "a-1", sight))


def test_who_may_see_all_is_told_of_all() -> None:
    told = told_to(WHOLE_SIGHT)
    assert "open/web" in told
    assert "closed/web" in told


def test_who_may_see_a_part_is_told_how_many_more_there_are() -> None:
    told = told_to(OPEN)
    assert "open/web" in told
    assert "closed" not in told
    assert "1 more applications are counted, and not listed." in told
