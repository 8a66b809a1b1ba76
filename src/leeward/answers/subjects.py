"""Subjects: what can be asked about by TYPE/NAME, and the answer for each, from a picture or from a control plane."""

from enum import Enum
from typing import NamedTuple

from kubeapi.loop import Clock
from kubeclient import Client, NotFound
from leeward import __version__
from leeward.answers.cluster_explanation import ClusterExplanation, explain_cluster
from leeward.answers.decisions import fleet_of, snapshot_of
from leeward.answers.explanation import Explanation, explain_binding
from leeward.answers.fleet_state import BindingName, FleetState, binding_of_work
from leeward.answers.reading import read_fleet, read_for
from leeward.answers.unclaimed_template import told_unclaimed, unclaimed_in
from leeward.answers.work_explanation import WorkExplanation, explain_work
from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.names import EXECUTION_SPACE_PREFIX, binding_name
from leeward.api.resource import WORKS
from leeward.operations import OperationFailed
from leeward.planning.group_decisions import decide_together
from leeward.planning.recording import RecordedOutcome, encode_snapshot

Answer = Explanation | ClusterExplanation | WorkExplanation

SHORT_NAMES = {
    "cj": "cronjob",
    "cm": "configmap",
    "crd": "customresourcedefinition",
    "deploy": "deployment",
    "ds": "daemonset",
    "hpa": "horizontalpodautoscaler",
    "ing": "ingress",
    "ns": "namespace",
    "pv": "persistentvolume",
    "pvc": "persistentvolumeclaim",
    "rs": "replicaset",
    "sa": "serviceaccount",
    "sts": "statefulset",
    "svc": "service",
}


class SubjectKind(Enum):
    """Meaning of a type, by all names that it has."""

    CLUSTER = frozenset({"cluster", "clusters"})
    WORK = frozenset({"work", "works"})
    BINDING = frozenset({"resourcebinding", "resourcebindings", "rb", "binding"})
    CLUSTER_BINDING = frozenset({"clusterresourcebinding", "clusterresourcebindings", "crb"})
    TEMPLATE = frozenset[str]()


class AskedOf(NamedTuple):
    """`bindings` are those that it can be, of which the first that is there is meant; `kinds` the lower-case names that
    the kind of a template can have."""

    kind: SubjectKind
    text: str
    name: str
    namespace: str
    bindings: tuple[BindingName, ...] = ()
    kinds: tuple[str, ...] = ()


def asked_of(text: str, namespace: str) -> AskedOf:
    """Raises: OperationFailed that says how it is to be written."""
    given, slash, name = text.partition("/")
    wanted = given.lower().partition(".")[0]
    if not (slash and wanted and name) or "/" in name:
        raise OperationFailed(
            f"RESOURCE {text!r} is no TYPE/NAME: write deploy/web, rb/web-deployment or cluster/member1"
        )
    kind = next((each for each in SubjectKind if wanted in each.value), SubjectKind.TEMPLATE)
    if kind is SubjectKind.WORK and not namespace.startswith(EXECUTION_SPACE_PREFIX):
        raise OperationFailed(f"a Work is in an execution space: add -n {EXECUTION_SPACE_PREFIX}CLUSTER")
    found, kinds = tuple[BindingName, ...](), tuple[str, ...]()
    if kind is SubjectKind.BINDING:
        found = (BindingName(namespace, name),)
    elif kind is SubjectKind.CLUSTER_BINDING:
        found = (BindingName("", name),)
    elif kind is SubjectKind.TEMPLATE:
        kinds = _singular(SHORT_NAMES.get(wanted, wanted))
        names = [binding_name(each, name) for each in kinds]
        found = tuple(BindingName(space, each) for space in (namespace, "") for each in names)
    return AskedOf(kind, text, name, namespace, found, kinds)


def explain_in(state: FleetState, asked: AskedOf) -> Answer:
    """Answer from a whole picture. Raises: OperationFailed where there is no such thing in it."""
    if asked.kind is SubjectKind.CLUSTER:
        if asked.name not in state.clusters:
            raise _no_cluster(asked, state)
        return explain_cluster(state, asked.name)
    if asked.kind is SubjectKind.WORK:
        for work in state.recorded.works:
            key = binding_of_work(work)
            is_asked_of = (work.namespace, work.name) == (asked.namespace, asked.name)
            if is_asked_of and key is not None and key in state.bindings:
                return explain_work(state, work, key)
        raise OperationFailed(f"there is no Work {asked.namespace}/{asked.name} of a binding")
    return explain_binding(state, _binding_of(state, asked))


def binding_asked_of(state: FleetState, text: str, namespace: str) -> BindingName:
    """Name of the binding of a template, or of a binding, in the picture. Raises: OperationFailed."""
    return _binding_of(state, asked_of(text, namespace))


def _binding_of(state: FleetState, asked: AskedOf) -> BindingName:
    key = next((key for key in asked.bindings if key in state.bindings), None)
    if key is None and asked.kinds:
        policies = (*state.recorded.policies, *state.recorded.cluster_policies)
        told = unclaimed_in(policies, asked.kinds, asked.name, asked.namespace)
        raise OperationFailed(f"{no_binding(asked)}. {told}")
    if key is None:
        raise no_binding(asked)
    return key


def record_of(state: FleetState, asked: AskedOf) -> bytes:
    """Record of what the decision about it is made on, with what is decided, for `replay`. Raises: OperationFailed."""
    if asked.kind in (SubjectKind.CLUSTER, SubjectKind.WORK):
        raise OperationFailed(f"--record: nothing is decided about {asked.text}; name an application or a binding")
    snapshot = snapshot_of(state, _binding_of(state, asked), fleet_of(state))
    return encode_snapshot(snapshot, RecordedOutcome.of(decide_together(snapshot), __version__))


async def read_asked(client: Client, clock: Clock, asked: AskedOf, control_plane: str) -> FleetState:
    """Reads the objects that an answer needs, in as few requests as it takes; all objects for a member of a group.

    Raises: OperationFailed, WorldError."""
    if asked.kind is SubjectKind.CLUSTER:
        return await read_fleet(client, clock, control_plane, works=False)
    keys = asked.bindings
    if asked.kind is SubjectKind.WORK:
        try:
            work = await client.get(WORKS, asked.name, asked.namespace)
        except NotFound:
            raise OperationFailed(f"there is no Work {asked.namespace}/{asked.name}") from None
        key = binding_of_work(work)
        keys = () if key is None else (key,)
    for key in keys:
        try:
            found = await read_for(client, clock, key, control_plane)
            is_in_group = MOVES_WITH_ANNOTATION in found.bindings[key].metadata.annotations
            return await read_fleet(client, clock, control_plane) if is_in_group else found
        except NotFound:
            continue
    told = await told_unclaimed(client, asked.kinds, asked.name, asked.namespace) if asked.kinds else ""
    raise OperationFailed(told) if told else no_binding(asked)


def _singular(word: str) -> tuple[str, ...]:
    """The word, and what it may be the plural of."""
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    return (word, *(word.removesuffix(end) + instead for end, instead in endings if word.endswith(end)))


def _no_cluster(asked: AskedOf, state: FleetState) -> OperationFailed:
    return OperationFailed(
        f"there is no cluster {asked.name!r}: choose from {', '.join(sorted(state.clusters)) or 'none has joined'}"
    )


def no_binding(asked: AskedOf) -> OperationFailed:
    """Refusal of a subject that no policy has claimed."""
    return OperationFailed(
        f"there is no binding of {asked.text} in namespace {asked.namespace}: no policy selects it, or it is not there "
        f"(`kubectl get rb -n {asked.namespace}` lists what is; -n chooses another namespace)"
    )
