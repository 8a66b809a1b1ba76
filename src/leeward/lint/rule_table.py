"""All rules of lint, with their ids, which are never given to another rule. `docs/lint.md` is rendered from this table.

A new rule is a function of a picture, and one row.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from leeward.core.admission_warnings import Concern
from leeward.lint.dependency_rules import (
    autoscalers_overruled,
    dependencies_left_behind,
    not_judged,
    services_left_behind,
)
from leeward.lint.eviction_rules import foreign_scheduler, suspended, switched_off, tolerated_for_ever
from leeward.lint.findings import Diagnostic, FindingLevel
from leeward.lint.gate_rules import gates_in_vain
from leeward.lint.group_rules import groups_in_vain
from leeward.lint.object_rules import duplicate_clusters, invalid, repeated
from leeward.lint.picture import LintInput, LintPicture
from leeward.lint.placement_rules import hard_spread, one_cluster_only
from leeward.lint.policy_rules import overlapping, selects_nothing, unknown_annotations
from leeward.lint.rollout_rules import stages_in_vain
from leeward.lint.room_rules import no_room
from leeward.lint.volume_rules import (
    claims_left_behind,
    kinds_missing_elsewhere,
    services_part_from_set,
    shared_resources_evicted,
)

ERROR, WARNING, NOTE = FindingLevel.ERROR, FindingLevel.WARNING, FindingLevel.NOTE


@dataclass(frozen=True)
class LintRule:
    """`harm` is what somebody loses, `mend` the way out; `needs` is what must be there for it to be asked.

    Without `more_with` it `sees` only a part. It also tells what admission `warns` of.
    """

    id: str
    name: str
    level: FindingLevel
    title: str
    harm: str
    mend: str
    find: Callable[[LintPicture], Iterable[Diagnostic]] = lambda _: ()
    needs: frozenset[LintInput] = field(default_factory=frozenset[LintInput])
    more_with: frozenset[LintInput] = field(default_factory=frozenset[LintInput])
    sees: str = ""
    warns: tuple[Concern, ...] = ()


_CONTENTS = frozenset({LintInput.CONTENTS})
_FLEET = frozenset({LintInput.FLEET})
_OVERRIDES = frozenset({LintInput.OVERRIDES})

RULES: Sequence[LintRule] = (
    LintRule(
        "LW001",
        "invalid-object",
        ERROR,
        "An object that the API server refuses, a field that it drops, or an annotation that names no rule",
        "The policy is not there, or does not say what its file says.",
        "mend the field",
        invalid,
        _CONTENTS,
    ),
    LintRule(
        "LW002",
        "tolerates-for-ever",
        ERROR,
        "A toleration for ever of clusters that are down",
        "Nothing leaves a cluster that is down: no failover happens.",
        "give the toleration tolerationSeconds (300 is the default), or take it away",
        tolerated_for_ever,
    ),
    LintRule(
        "LW003",
        "one-cluster-only",
        WARNING,
        "A placement that allows one cluster only, or none that has joined",
        "If the cluster is lost, the applications of the policy are down until it is back.",
        "let the policy name a second cluster, as a further term of clusterAffinities for example",
        one_cluster_only,
    ),
    LintRule(
        "LW004",
        "hard-spread",
        WARNING,
        "Spread constraints that hold no longer if one cluster is lost",
        "The constraints allow no other cluster, and the copy in the lost cluster stays there.",
        "lower minGroups, or let the policy name more clusters",
        hard_spread,
    ),
    LintRule(
        "LW005",
        "claims-stay-behind",
        WARNING,
        "Claims whose data stays in the lost cluster",
        "A StatefulSet stays with its volumes; anything else starts empty in another cluster.",
        "replicate the storage and annotate the policy with leeward.dev/volumes-follow=true, or replicate the data",
        claims_left_behind,
        more_with=_CONTENTS,
        sees="the claims of StatefulSets",
    ),
    LintRule(
        "LW006",
        "no-room",
        WARNING,
        "Too little free capacity for an application in other clusters",
        "If the cluster is lost, replicas that fit nowhere else stay there, and do not serve.",
        "see `leeward what-if --fail CLUSTER`: free capacity, or let the policy name more clusters",
        no_room,
        _FLEET,
    ),
    LintRule(
        "LW007",
        "switched-off",
        WARNING,
        "A flag or feature gate that is off, and a field that is ignored",
        "The setting has no effect.",
        "set the flag, or remove the field",
        switched_off,
        more_with=_OVERRIDES,
        sees="flags and propagation policies",
        warns=(Concern.GATED, Concern.NOT_ENFORCED, Concern.UNSUPPORTED, Concern.ASSIGNED_TWICE),
    ),
    LintRule(
        "LW008",
        "shared-resource-evicted",
        WARNING,
        "Namespaces, definitions and volumes under a policy that evicts them",
        "When the cluster is back, they are deleted there, with everything that others keep in them.",
        "take the annotation leeward.dev/evict-shared-resources away, or place them in all clusters",
        shared_resources_evicted,
    ),
    LintRule(
        "LW009",
        "dependency-left-behind",
        WARNING,
        "A ConfigMap, Secret, ServiceAccount or Service that no policy takes along",
        "The replacement starts without the object, or does not start.",
        "set propagateDeps: true, or let a policy select it",
        dependencies_left_behind,
        _CONTENTS,
    ),
    LintRule(
        "LW010",
        "autoscaler-overruled",
        WARNING,
        "A HorizontalPodAutoscaler whose target is set back to its template's replicas",
        "The application is scaled down at the moment when a cluster gets more load.",
        "label it resourcetemplate.karmada.io/retain-replicas=true, or run --controllers=*,hpaScaleTargetMarker",
        autoscalers_overruled,
        _CONTENTS,
    ),
    LintRule(
        "LW011",
        "foreign-scheduler",
        ERROR,
        "A policy that leaves placing to another scheduler",
        "Leeward gives its templates no place, and no other one if a cluster is lost.",
        "remove schedulerName (it cannot be changed: delete the policy and create it anew), or run that scheduler",
        foreign_scheduler,
    ),
    LintRule(
        "LW012",
        "health-not-judged",
        NOTE,
        "A kind without a rule for its health",
        "Without a condition Ready or Available its health is Unknown: an old copy stays until a person deletes it.",
        "write a ResourceInterpreterCustomization with healthInterpretation",
        not_judged,
        _CONTENTS,
    ),
    LintRule(
        "LW013",
        "workload-preserved",
        NOTE,
        "preserveResourcesOnDeletion of what has replicas",
        "The field preserves copies when the template is deleted. It does not preserve a copy that scheduling or a "
        "failover removes.",
        "place what is to be preserved by a policy of its own",
        warns=(Concern.NOT_PRESERVED,),
    ),
    LintRule(
        "LW014",
        "duplicate-cluster",
        ERROR,
        "One cluster that has joined under two names",
        "If the cluster is lost, its applications are placed in the same lost cluster again, under the other name.",
        "unjoin one of the two names",
        duplicate_clusters,
    ),
    LintRule(
        "LW015",
        "selects-nothing",
        WARNING,
        "A policy that selects nothing, or nothing that it may claim",
        "The templates that it is meant for are not propagated, or another policy claims them.",
        "correct the selector",
        selects_nothing,
    ),
    LintRule(
        "LW016",
        "overlapping-policies",
        WARNING,
        "Two policies that select the same templates with the same priority",
        "Which of two placements holds depends on which policy came first, also after a restore.",
        "give one of them the greater priority, or a more precise selector",
        overlapping,
    ),
    LintRule(
        "LW017",
        "services-part-from-set",
        WARNING,
        "Services that move away from a StatefulSet that stays",
        "After a failover the Services are in clusters where the set is not.",
        "select the Services by another policy, for all clusters",
        services_part_from_set,
    ),
    LintRule(
        "LW018",
        "overridden-replicas",
        WARNING,
        "An override of replicas",
        "A cluster runs another number than it was assigned, and a failover to it may not end.",
        "use weights of the placement",
        needs=_OVERRIDES,
        warns=(Concern.OVERRIDDEN_REPLICAS,),
    ),
    LintRule(
        "LW019",
        "dispatching-suspended",
        WARNING,
        "A policy that is suspended",
        "A replacement is assigned to a cluster, but not created there.",
        "end the suspension",
        suspended,
    ),
    LintRule(
        "LW020",
        "kind-missing-elsewhere",
        WARNING,
        "A CustomResourceDefinition that is not where its objects may go",
        "A cluster without the kind cannot take its objects.",
        "place the definition in all clusters that its objects may go to",
        kinds_missing_elsewhere,
        _CONTENTS,
    ),
    LintRule(
        "LW021",
        "given-twice",
        NOTE,
        "An object that is in the files twice",
        "Only the last one was looked at; which one is applied last is not known here.",
        "give the files of one installation only, as they are applied",
        repeated,
    ),
    LintRule(
        "LW022",
        "unknown-annotation",
        WARNING,
        "An unknown annotation under leeward.dev, or one without an effect",
        "What it asks for, such as a failback, does not happen.",
        "correct it, or take it away",
        unknown_annotations,
        more_with=_CONTENTS,
        sees="policies",
        warns=(Concern.ORDINALS,),
    ),
    LintRule(
        "LW023",
        "gate-in-vain",
        WARNING,
        "A gate that never opens, or holds nothing",
        "A replacement waits for ever, or starts without data.",
        "correct the gate",
        gates_in_vain,
    ),
    LintRule(
        "LW024",
        "stages-in-vain",
        WARNING,
        "Stages of a rollout that are empty, leave clusters out, or have all clusters at once",
        "A bad change reaches clusters that should get it last, or all clusters at once.",
        "correct the stages",
        stages_in_vain,
    ),
    LintRule(
        "LW025",
        "service-left-behind",
        WARNING,
        "A workload that may move to a cluster without its Service",
        "After a failover the workload serves in a cluster where no Service leads to it.",
        "let the policy of the Service allow all clusters, or annotate its policy with leeward.dev/service-optional",
        services_left_behind,
        _CONTENTS,
    ),
    LintRule(
        "LW026",
        "group-in-vain",
        WARNING,
        "A group that keeps nobody together, or gates of one member alone",
        "Members of the group may move to different clusters.",
        "correct its placement, size or gates",
        groups_in_vain,
    ),
    LintRule(
        "LW027",
        "old-word",
        NOTE,
        "A word that Karmada has taken away since",
        "Karmada 1.19 refuses it.",
        "write today's word",
        warns=(Concern.OLD_WORD,),
    ),
)
"""Rules in the order of their ids."""

RULES_BY_ID = {rule.id: rule for rule in RULES}
