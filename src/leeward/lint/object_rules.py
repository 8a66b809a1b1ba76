"""Rules about single objects: what the API server refuses, drops, or warns of; and clusters that are one."""

from collections.abc import Collection, Iterator

from kubeapi.codec import DecodeError, from_wire, to_wire
from kubeapi.meta import Manifest
from kubeapi.yaml_lines import FieldPath
from leeward.api.cluster import Cluster
from leeward.api.schema import schema_of
from leeward.api.unknown_fields import unknown_fields
from leeward.api.validation import validate, validate_types
from leeward.core.admission_warnings import Concern, concerns_in
from leeward.core.registration import Joined, problem_of_identity
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import LintObject, path_of
from leeward.lint.picture import LintPicture, as_stored, bound

CLUSTER = ("cluster.karmada.io", "Cluster")


def invalid(picture: LintPicture) -> Iterator[Diagnostic]:
    """Faults of files only: what a control plane has stored was taken."""
    for each in picture.objects:
        if each.document is None:
            continue
        if not each.name:
            yield Diagnostic(each, f"{each.kind} has no metadata.name", ("metadata",))
        elif each.is_template:
            yield from _unreadable_template(picture, each)
        else:
            stored = as_stored(each)
            problems = [*validate_types(stored), *validate(stored)]
            for problem in problems:
                said = f"{each} would be refused at {problem.field}: {problem.message}"
                yield Diagnostic(each, said, path_of(problem.field))
            yield from _unknown_fields(each)


def _unreadable_template(picture: LintPicture, template: LintObject) -> Iterator[Diagnostic]:
    policy = picture.policy_of(template)
    if policy is None or not template.has_contents:
        return
    try:
        bound(template, policy.policy)
    except (ValueError, DecodeError) as error:
        said = f"{template} is not propagated, since what its Pods ask for cannot be read: {error}"
        yield Diagnostic(template, said, ("spec",), others=(policy.source,))


def _unknown_fields(each: LintObject) -> Iterator[Diagnostic]:
    if schema_of(each.api_version, each.kind) is None:
        yield Diagnostic(each, f"{each}: there is no kind {each.kind} in {each.api_version}", ("kind",))
        return
    for path in unknown_fields(each.manifest):
        field = ".".join(str(step) for step in path)
        said = f"{each} has a field {field}, which there is not: the API server drops it"
        yield Diagnostic(each, said, path)


def repeated(picture: LintPicture) -> Iterator[Diagnostic]:
    for before, after in picture.repeated:
        said = f"{before} is in {after.file}:{after.line_of()} again: only that was looked at"
        yield Diagnostic(before, said, others=(after,))


def warned_of(picture: LintPicture, concerns: Collection[Concern]) -> Iterator[Diagnostic]:
    """Finds the concerns of admission warnings."""
    gates = picture.state.settings.gates_on if picture.state is not None else ()
    for each in picture.objects if concerns else ():
        if not each.has_contents:
            continue
        given = each.manifest if each.is_template or Concern.OLD_WORD in concerns else as_stored(each)
        for concern, warning in concerns_in(given, gates):
            if concern in concerns:
                yield Diagnostic(each, f"{each}: {warning}", _path_in(warning))


def _path_in(warning: str) -> FieldPath:
    """Field that the warning begins with."""
    first, in_brackets, rest = warning.split(" ")[0].rstrip(":").partition("annotations[")
    if in_brackets:
        return "metadata", "annotations", rest.rstrip("]")
    return path_of(first) if first.startswith("spec.") else ("spec",)


def duplicate_clusters(picture: LintPicture) -> Iterator[Diagnostic]:
    known = {each.name: (each, None) for each in (picture.fleet or {}).values()}
    given = {each.name: (cluster, each) for each in picture.objects if (cluster := _cluster_in(each)) is not None}
    joined: list[Joined] = []
    endpoints: dict[str, str] = {}
    for name, (cluster, source) in sorted({**known, **given}.items()):
        spec, endpoint = cluster.spec, cluster.spec.api_endpoint.rstrip("/")
        about = source or LintObject(_named_cluster(cluster))
        if problem := problem_of_identity(name, spec.id, joined):
            yield Diagnostic(about, f"{about} has the id of another one: {problem}", ("spec", "id"))
        elif endpoint and endpoint in endpoints:
            said = f"{about} and Cluster {endpoints[endpoint]} have the same spec.apiEndpoint: they are one cluster"
            yield Diagnostic(about, said, ("spec", "apiEndpoint"))
        joined.append(Joined(name, spec.id, spec.sync_mode))
        endpoints.setdefault(endpoint, name)


def _named_cluster(cluster: Cluster) -> Manifest:
    metadata = {"name": cluster.name, "annotations": to_wire(cluster.metadata.annotations)}
    return {"apiVersion": f"{CLUSTER[0]}/v1alpha1", "kind": CLUSTER[1], "metadata": metadata}


def _cluster_in(each: LintObject) -> Cluster | None:
    if (each.group, each.kind) != CLUSTER:
        return None
    try:
        return from_wire(as_stored(each), Cluster)
    except DecodeError:
        return None


def unknown_ignores(picture: LintPicture, ids: Collection[str]) -> Iterator[Diagnostic]:
    """Annotations that name no rule."""
    for each in picture.objects:
        for unknown in sorted(each.ignored_rules - set(ids)):
            said = f"{each} ignores {unknown}, and there is no such rule"
            yield Diagnostic(each, said, ("metadata", "annotations"))
