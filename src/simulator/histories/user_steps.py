"""Steps of users: with applications and their policies, with clusters, and in members by hand."""

from typing import Literal

import msgspec

from simulator.histories.step import UserStep

Division = Literal["Duplicated", "Static", "Dynamic", "Aggregated"]
Task = Literal["", "Job", "CronJob"]
Operated = Literal["", "plain", "claiming"]
GitWrite = Literal["patch", "put", "apply"]
Shared = Literal["Namespace", "CustomResourceDefinition", "Service", "PersistentVolumeClaim"]


class Staging(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Stages of a policy: the clusters of each, the last stage has all that are left. `approval`: the first stage
    waits for a person."""

    stages: tuple[tuple[str, ...], ...]
    healthy_seconds: int = 25
    deadline_seconds: int = 60
    unavailable: int = 1
    approval: bool = False
    rollback: bool = False


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Plan for where an application is to run. `weights` belong to `clusters`, in their order, and count for `Static`.

    `groups` are the least and the most clusters of a spread constraint, (0, 0) for none. `toleration_seconds` 0 leaves
    the defaults of admission. With `terms` above 1 the clusters, in their order, are that many affinity terms, tried
    one after the other; with `overlap` each has the first cluster of the one before, too. `failback`: what an outage
    has moved returns. `application_seconds`: a copy that is unhealthy for so long leaves its cluster, 0 for never.
    `follows`: what the template names goes where it goes. `lazy`: the policy takes effect when the template changes.
    `preserve`: copies stay when the template is deleted. `staging`: the stages in which a change reaches clusters.
    `group`: the others with which it is in one cluster.
    """

    division: Division
    clusters: tuple[str, ...]
    weights: tuple[int, ...] = ()
    groups: tuple[int, int] = (0, 0)
    directly: bool = False
    toleration_seconds: int = 0
    terms: int = 1
    overlap: bool = False
    failback: bool = False
    application_seconds: int = 0
    follows: bool = False
    lazy: bool = False
    preserve: bool = False
    staging: Staging | None = None
    group: str = ""


class Deploy(UserStep, frozen=True, kw_only=True):
    """A template and its policy. `config` makes it a ConfigMap, which has no replicas; `cpu` is what a replica asks,
    and `reads` what it names: objects that are provided. `scripted` makes it a custom resource that only scripts
    understand, and `job` a Job, or a CronJob of every minute, whose Pod runs for so many `seconds`. `autoscaled`:
    somebody in each member may scale the copy up. `operated` makes it a Database, which no rule judges: an operator in
    each member says when it is ready, and makes a claim for it where it is `claiming`."""

    app: str
    plan: Plan
    replicas: int = 1
    cpu: int = 1
    config: bool = False
    reads: tuple[str, ...] = ()
    scripted: bool = False
    job: Task = ""
    seconds: int = 0
    autoscaled: bool = False
    operated: Operated = ""


class Scale(UserStep, frozen=True, kw_only=True):
    app: str
    replicas: int


class Release(UserStep, frozen=True, kw_only=True):
    """Another image, or other contents. No member can run a `bad` one."""

    app: str
    version: int
    bad: bool = False


class Relabel(UserStep, frozen=True, kw_only=True):
    """A label on the template; nothing else changes."""

    app: str
    value: int


class Suspend(UserStep, frozen=True, kw_only=True):
    """Suspension in which nothing is scheduled for the application, or nothing is dispatched to members, until `lasts`
    seconds later."""

    app: str
    what: Literal["scheduling", "dispatching"]
    lasts: float

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts


class Replan(UserStep, frozen=True, kw_only=True):
    """The policy gets another placement."""

    app: str
    plan: Plan


class Withdraw(UserStep, frozen=True, kw_only=True):
    """The template and its policy are deleted."""

    app: str


class Recreate(UserStep, frozen=True, kw_only=True):
    """The template is deleted, and another one of the same name is made at once."""

    app: str
    replicas: int


class RecreatePolicy(UserStep, frozen=True, kw_only=True):
    app: str


class Rebalance(UserStep, frozen=True, kw_only=True):
    app: str


class Maintain(UserStep, frozen=True, kw_only=True):
    """A NoExecute taint is set by hand, and taken off `lasts` seconds later."""

    cluster: str
    lasts: float

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts


class Drain(UserStep, frozen=True, kw_only=True):
    """The cluster is drained, `budget` bindings at a time (0: all at once), and taken back `lasts` seconds later."""

    cluster: str
    lasts: float
    budget: int = 0

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts


class SyncClusters(UserStep, frozen=True, kw_only=True):
    """A git tool writes Clusters as they are in git, again `every` so many seconds until `lasts` seconds later; 0 is
    once. There the list of taints is empty; with `own` it has one taint that is no word about health, until then."""

    clusters: tuple[str, ...]
    how: GitWrite
    every: float = 0.0
    lasts: float = 0.0
    own: bool = False

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts


class TaintOnOutage(UserStep, frozen=True, kw_only=True):
    """A ClusterTaintPolicy: NoExecute as long as a cluster is not Ready."""


class Rejoin(UserStep, frozen=True, kw_only=True):
    """The Cluster is deleted, and joined again when it is gone."""

    cluster: str


class Meddle(UserStep, frozen=True, kw_only=True):
    """Change to a copy in the member itself: `delete` it, or let it ask for one replica more and a label."""

    app: str
    cluster: str
    delete: bool = False


class Autoscale(UserStep, frozen=True, kw_only=True):
    """An autoscaler in a member wants so many replicas of the copy there."""

    app: str
    cluster: str
    replicas: int


class Squat(UserStep, frozen=True, kw_only=True):
    """Someone makes an object of an application's name in a member by hand: it is not ours. `named`: one of a kind that
    templates name."""

    app: str
    cluster: str
    config: bool = False
    named: Literal["", "ConfigMap", "Secret"] = ""


class RestartPod(UserStep, frozen=True, kw_only=True):
    """Someone deletes one Pod of the application in a member."""

    app: str
    cluster: str


class Share(UserStep, frozen=True, kw_only=True):
    """Something without replicas that others live in or rely on is propagated, with the policy of its own. `groups` as
    in `Plan`."""

    app: str
    what: Shared
    clusters: tuple[str, ...]
    groups: tuple[int, int] = (0, 0)


class Unshare(UserStep, frozen=True, kw_only=True):
    """Deletion of it with its policy, and with it all that others have put into it."""

    app: str


class Own(UserStep, frozen=True, kw_only=True):
    """Someone in a member puts something of their own into what is shared: a ConfigMap into a Namespace, a custom
    resource beside its CustomResourceDefinition. It is tried until there is something to put it into."""

    app: str
    cluster: str


AnyApplicationStep = (
    Deploy
    | Scale
    | Release
    | Relabel
    | Suspend
    | Replan
    | Withdraw
    | Recreate
    | RecreatePolicy
    | Rebalance
    | Maintain
    | Drain
    | SyncClusters
    | TaintOnOutage
    | Rejoin
    | Meddle
    | Autoscale
    | Squat
    | RestartPod
    | Share
    | Unshare
    | Own
)
