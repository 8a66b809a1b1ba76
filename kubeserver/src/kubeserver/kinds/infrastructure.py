"""Infrastructure of clusters, to which templates only refer: runtimes, storage drivers, devices, flow control.

This server keeps these objects, for their controllers and for the clusters that they are propagated to. Of them it
acts on RuntimeClasses alone (`admission/pod_classes.py`): its own fairness is not told by FlowSchemas
(README.md).
"""

from kubeapi.meta import ReadOnlyManifest
from kubeserver.kinds import infrastructure_rules as rules
from kubeserver.kinds.columns import AGE, at, count, field, text
from kubeserver.kinds.kind import Column, Kind, spec_changed
from kubeserver.kinds.others import default_with_status
from kubeserver.values import entries, section

_DEVICES, _FLOW, _STORAGE = "resource.k8s.io", "flowcontrol.apiserver.k8s.io", "storage.k8s.io"
_UNSET = "<unset>"
_DANGLING = "references a broken or non-existent PriorityLevelConfiguration"


def _claim_state(claim: ReadOnlyManifest) -> str:
    status = section(claim, "status")
    states = ["deleted"] if "deletionTimestamp" in claim["metadata"] else []
    states += ["allocated"] if status.get("allocation") else ["pending"]
    return ",".join([*states, *(["reserved"] if status.get("reservedFor") else [])])


def _flag(path: str) -> Column:
    name = path.rpartition(".")[2]
    return Column(name[:1].upper() + name[1:], text(lambda m: str(at(m, path, False)).lower()))


def _dangling_status(schema: ReadOnlyManifest) -> str:
    """Status that the one gives who hands out concurrency; nobody does here."""
    conditions = entries(section(schema, "status"), "conditions")
    return next((str(c.get("status", "")) for c in conditions if c.get("type") == "Dangling"), "?")


_RUNTIMES = (Column("Handler", field("handler", "")), AGE)
_DRIVERS = (
    _flag("spec.attachRequired"),
    _flag("spec.podInfoOnMount"),
    _flag("spec.storageCapacity"),
    Column("TokenRequests", text(lambda m: ",".join(r["audience"] for r in at(m, "spec.tokenRequests", ())) or _UNSET)),
    _flag("spec.requiresRepublish"),
    Column("Modes", text(lambda m: ",".join(at(m, "spec.volumeLifecycleModes", ())) or "<none>")),
    AGE,
)
_ATTACHMENTS = (
    Column("Attacher", field("spec.attacher", "")),
    Column("PV", field("spec.source.persistentVolumeName", "")),
    Column("Node", field("spec.nodeName", "")),
    Column("Attached", text(lambda m: str(at(m, "status.attached", False)).lower())),
    AGE,
)
_CAPACITIES = (Column("StorageClassName", field("storageClassName", "")), Column("Capacity", field("capacity", _UNSET)))
_SCHEMAS = (
    Column("PriorityLevel", field("spec.priorityLevelConfiguration.name")),
    Column("MatchingPrecedence", field("spec.matchingPrecedence", 0)),
    Column("DistinguisherMethod", field("spec.distinguisherMethod.type")),
    AGE,
    Column("MissingPL", text(_dangling_status), description=_DANGLING),
)
_LEVELS = (
    Column("Type", field("spec.type", "")),
    Column("NominalConcurrencyShares", field("spec.limited.nominalConcurrencyShares")),
    Column("Queues", field("spec.limited.limitResponse.queuing.queues")),
    Column("HandSize", field("spec.limited.limitResponse.queuing.handSize")),
    Column("QueueLengthLimit", field("spec.limited.limitResponse.queuing.queueLengthLimit")),
    AGE,
)
_SLICES = (
    Column("Node", field("spec.nodeName", _UNSET)),
    Column("Driver", field("spec.driver", "")),
    Column("Pool", field("spec.pool.name", "")),
    AGE,
)

INFRASTRUCTURE = (
    Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", False, columns=_RUNTIMES,
         validate=rules.validate_runtime_class, creates_on_update=True, unconditional_update=False),
    Kind(_STORAGE, "v1", "CSIDriver", "csidrivers", False, columns=_DRIVERS, default=rules.default_driver,
         generation=spec_changed, returns_deleted=True, unconditional_update=False),
    Kind(_STORAGE, "v1", "CSINode", "csinodes", False, returns_deleted=True,
         columns=(Column("Drivers", count("spec.drivers"), "integer"), AGE), unconditional_update=False),
    Kind(_STORAGE, "v1", "CSIStorageCapacity", "csistoragecapacities", True, columns=_CAPACITIES,
         unconditional_update=False),
    Kind(_STORAGE, "v1", "VolumeAttachment", "volumeattachments", False, columns=_ATTACHMENTS, status=True,
         default=default_with_status, validate=rules.validate_attachment, returns_deleted=True,
         unconditional_update=False),
    Kind(_STORAGE, "v1", "VolumeAttributesClass", "volumeattributesclasses", False, ("vac",),
         columns=(Column("DriverName", field("driverName", "")), AGE), returns_deleted=True),
    Kind(_FLOW, "v1", "FlowSchema", "flowschemas", False, columns=_SCHEMAS, status=True,
         default=rules.default_flow_schema, validate=rules.validate_flow_schema, generation=spec_changed,
         unconditional_update=False),
    Kind(_FLOW, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", False, columns=_LEVELS,
         status=True, default=rules.default_priority_level, validate=rules.validate_priority_level,
         generation=spec_changed, unconditional_update=False),
    Kind(_DEVICES, "v1", "DeviceClass", "deviceclasses", False, columns=(AGE,), generation=spec_changed,
         returns_deleted=True),
    Kind(_DEVICES, "v1", "ResourceClaim", "resourceclaims", True, status=True, returns_deleted=True,
         columns=(Column("State", text(_claim_state)), AGE), default=rules.default_device_claim,
         validate=rules.validate_device_claim),
    Kind(_DEVICES, "v1", "ResourceClaimTemplate", "resourceclaimtemplates", True, columns=(AGE,),
         default=rules.default_claim_template, validate=rules.validate_claim_template, returns_deleted=True),
    Kind(_DEVICES, "v1", "ResourceSlice", "resourceslices", False, columns=_SLICES, generation=spec_changed,
         fields={"spec.nodeName": lambda m: str(at(m, "spec.nodeName", "")),
                 "spec.driver": lambda m: str(at(m, "spec.driver", ""))},
         returns_deleted=True),
)  # fmt: skip
