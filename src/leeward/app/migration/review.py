"""Review of a survey before a switch: obstacles, changes, and objects that stay as they are.

Every remark is a sentence, and names the command that helps where there is one.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import msgspec

from leeward.api.names import SYSTEM_NAMESPACE
from leeward.app.migration.survey import Survey
from leeward.core.wording import first_of
from leeward.operations.sentences import counted

_MANAGER = "karmada-controller-manager --leader-elect=false --skipped-propagating-namespaces=.*"
_ALONE, _WITH_SERVICES = "PropagateDeps=false", "PropagateDeps=false,MultiClusterService=true"
"""Gates: its detector and its dependencies distributor run whatever --controllers says. The one is given no namespace,
the other is switched off."""
_CONTROLLERS: Mapping[str, tuple[str, str]] = {
    "federatedhpas.autoscaling.karmada.io": (
        _ALONE,
        "federatedHorizontalPodAutoscaler,cronFederatedHorizontalPodAutoscaler",
    ),
    "cronfederatedhpas.autoscaling.karmada.io": (_ALONE, "cronFederatedHorizontalPodAutoscaler"),
    "multiclusterservices.networking.karmada.io": (
        _WITH_SERVICES,
        "multiclusterservice,endpointsliceCollect,endpointsliceDispatch",
    ),
    "serviceexports.multicluster.x-k8s.io": (_ALONE, "serviceExport,endpointSlice"),
    "serviceimports.multicluster.x-k8s.io": (_ALONE, "serviceImport"),
    "remedies.remedy.karmada.io": (_ALONE, "remedy"),
}
"""Gates and controllers of Karmada's controller manager by kind. Karmada: cmd/controller-manager/app."""
_OPERATED_BY: Mapping[str, str] = {
    **{
        kind: f"{_MANAGER} --feature-gates={gates} --controllers={names}"
        for kind, (gates, names) in _CONTROLLERS.items()
    },
    "resourceregistries.search.karmada.io": "karmada-search",
    "multiclusteringresses.networking.karmada.io": "the ingress controller that reads them",
}
"""Parts of Karmada that go on beside Leeward for a kind that Leeward does not have."""


class Weight(Enum):
    REFUSES = "refuses"
    """The switch is not begun."""
    CHANGES = "changes"
    """The switch does this."""
    STAYS = "stays"
    """Weight of what nothing is done about; somebody may want to."""


class Remark(msgspec.Struct, frozen=True):
    weight: Weight
    about: str
    sentence: str
    next: str = ""


def review(survey: Survey, *, adopted: bool = False) -> list[Remark]:
    """Remarks on a survey, those that refuse first. `adopted`: the switch is done, and what of Karmada's is in the way
    has come back."""
    remarks = [
        *_running(survey, beside_ours=adopted and survey.clusters_service is None),
        *_unseen(survey),
        *_gaps(survey),
        *(_returned_clusters(survey) if adopted else _clusters(survey)),
        *_webhooks(survey),
        *_unreadable(survey),
        *_tainted(survey),
        *_kept(survey),
        *_without_proxy(survey),
    ]
    order = list(Weight)
    return sorted(remarks, key=lambda remark: order.index(remark.weight))


def refusals(remarks: Sequence[Remark]) -> list[Remark]:
    return [remark for remark in remarks if remark.weight is Weight.REFUSES]


def _running(survey: Survey, *, beside_ours: bool) -> Iterator[Remark]:
    """Components that would work against the switch; ours do not where only webhooks are taken away."""
    for name, is_ours in ((each.name, each.is_ours) for each in survey.running):
        if is_ours and beside_ours:
            continue
        if is_ours:
            said, next = f"Leeward's controllers work ({name}): stop them first", "stop `leeward serve`"
        else:
            said = f"{name} runs: it holds its Lease, and would work against the switch"
            next = (
                f"kubectl scale deployment {name} -n {SYSTEM_NAMESPACE} --replicas=0 (in the cluster that it runs in)"
            )
        yield Remark(Weight.REFUSES, f"lease/{name}", said, next)


def _unseen(survey: Survey) -> Iterator[Remark]:
    for version in survey.unseen:
        said = f"{version} does not answer: whether anything there belongs to a Cluster cannot be seen"
        yield Remark(Weight.STAYS, f"apiservice/{version}", said, f"kubectl get apiservices | grep {version}")


def _gaps(survey: Survey) -> Iterator[Remark]:
    for name, missing in survey.definition_gaps.items():
        said = f"the definition {name} is of an older Karmada, and would drop what Leeward writes: {first_of(missing)}"
        next = "kubectl apply -f charts/karmada/_crds/bases (of a newer release of Karmada)"
        yield Remark(Weight.REFUSES, f"customresourcedefinition/{name}", said, next)


def _clusters(survey: Survey) -> Iterator[Remark]:
    if survey.clusters_service is None:
        return
    service = survey.clusters_service["spec"]["service"]
    where = f"{service['namespace']}/{service['name']}"
    if survey.clusters is None:
        said = f"the Clusters are kept by {where}, which does not show them"
        yield Remark(Weight.REFUSES, "apiservice/clusters", said, "start karmada-aggregated-apiserver")
        return
    names = first_of([each["metadata"]["name"] for each in survey.clusters])
    said = (
        f"{counted(len(survey.clusters), 'Cluster')} ({names}) kept by {where} will be kept by a definition, with "
        "name, spec and status; what belongs to them is taken along"
    )
    yield Remark(Weight.CHANGES, "apiservice/clusters", said, "leeward adopt")
    leaving = [each["metadata"]["name"] for each in survey.clusters if each["metadata"].get("deletionTimestamp")]
    if leaving:
        said = f"{first_of(leaving)} is being removed, and could not be moved: let Karmada finish that first"
        yield Remark(Weight.REFUSES, "clusters", said, "kubectl get clusters")


def _unreadable(survey: Survey) -> Iterator[Remark]:
    """Every stored object that Leeward cannot read, by itself: each has its own way out."""
    for found in survey.unreadable:
        yield Remark(Weight.STAYS, found.about, found.sentence, found.next)


def _tainted(survey: Survey) -> Iterator[Remark]:
    """Taints for which Karmada evicts nothing by default since 1.14, and Leeward does."""
    for cluster in survey.clusters or ():
        name, taints = cluster["metadata"]["name"], cluster.get("spec", {}).get("taints") or ()
        keys = [taint["key"] for taint in taints if taint.get("effect") == "NoExecute"]
        if keys:
            said = (
                f"{name} has a NoExecute taint ({first_of(keys)}): applications that do not tolerate it leave, once "
                "`leeward serve` works and sees it so; Karmada's controllers do that only where a flag says so"
            )
            next = f"leeward taint {name} {keys[0]}:NoExecute- (or serve --enable-no-execute-taint-eviction=false)"
            yield Remark(Weight.STAYS, f"cluster/{name}", said, next)


def _returned_clusters(survey: Survey) -> Iterator[Remark]:
    if survey.clusters_service is not None:
        service = survey.clusters_service["spec"]["service"]
        said = (
            f"the Clusters are asked of {service['namespace']}/{service['name']} again, as it kept them before the "
            "switch: its APIService will be taken away, and the definition shows them as Leeward keeps them"
        )
        yield Remark(Weight.CHANGES, "apiservice/clusters", said, "leeward adopt")


def _webhooks(survey: Survey) -> Iterator[Remark]:
    for configured in survey.webhooks:
        count = len(configured.manifest.get("webhooks") or ())
        kind = configured.resource.kind
        said = (
            f"{kind} {configured.name} ({counted(count, 'webhook')} of Karmada's) will be kept in a record and taken "
            "away: it would refuse every write once karmada-webhook is gone"
        )
        yield Remark(Weight.CHANGES, f"{kind.lower()}/{configured.name}", said, "leeward adopt")


def _kept(survey: Survey) -> Iterator[Remark]:
    if survey.karmada_definitions:
        said = f"{counted(len(survey.karmada_definitions), 'definition')} of Karmada's stay as they are"
        yield Remark(Weight.STAYS, "customresourcedefinitions", said)
    for name, count in survey.other_kinds.items():
        program = _OPERATED_BY.get(name)
        said = f"{counted(count, 'object')} of {name}, a kind that Leeward does not have, " + (
            "can go on being served by Karmada's own program" if program else "will be carried out by nobody"
        )
        yield Remark(Weight.STAYS, name, said, program or "")
    for warning, names in survey.ignored.items():
        yield Remark(Weight.STAYS, names[0], f"{first_of(names)}: {warning}")
    pulled = [
        cluster["metadata"]["name"]
        for cluster in survey.clusters or ()
        if cluster.get("spec", {}).get("syncMode") == "Pull"
    ]
    if pulled:
        said = f"{first_of(pulled)}: the agent there goes on, Karmada's as well as ours"
        yield Remark(Weight.STAYS, "agents", said, "leeward register, when it is to be replaced")


def _without_proxy(survey: Survey) -> Iterator[Remark]:
    """Requests into members, which no definition can serve: Karmada's aggregated API server did."""
    if survey.clusters and not survey.cluster_proxy:
        said = (
            "karmadactl's verbs that look into members (get, describe, logs, exec, attach, apply and top of members, "
            "promote) ask for clusters/NAME/proxy, which a definition cannot serve: without `leeward cluster-proxy` "
            "they fail, with it they need the kubeconfig that it prints"
        )
        yield Remark(Weight.STAYS, "cluster-proxy", said, "leeward cluster-proxy (and --print-kubeconfig)")
