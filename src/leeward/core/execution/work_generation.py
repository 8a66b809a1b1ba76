"""The generation of its Work that an object of a member carries: which contents of the Work it was brought to last.

What is reported of an object counts for the generation that it carries. An object that carries none was made by
Karmada, from a Work that nobody of ours has written: it is as its Work says where it has all that the Work asks for. It
is no reason to write an object that it carries no generation, so that a control plane that takes over from Karmada
writes none (decision 91). Holds: S1, S12.
"""

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of, labels_of
from kubeapi.unstructured import int_at, with_annotations
from leeward.api.names import RENDERED_ANNOTATION, WORK_GENERATION_ANNOTATION, WORK_ID_LABEL
from leeward.api.work import Work
from leeward.core.execution.retain import covers, merge

_WHOLE = ("data", "binaryData", "rules", "roleRef", "subjects")
"""Fields that a server adds nothing to. In others, what is there beyond the Work may be a default."""


def with_generation(manifest: ReadOnlyManifest, work: Work) -> Manifest:
    """The manifest as an object that carries the Work's present generation."""
    return with_annotations(manifest, {WORK_GENERATION_ANNOTATION: str(work.metadata.generation)})


def without_due_generation(manifest: ReadOnlyManifest, observed: ReadOnlyManifest, work: Work) -> ReadOnlyManifest:
    """`manifest`, without the generation where `observed` is as Karmada has left it."""
    return with_annotations(manifest, {WORK_GENERATION_ANNOTATION: None}) if is_left(observed, work) else manifest


def carries_generation(observed: ReadOnlyManifest, work: Work, manifest: ReadOnlyManifest) -> bool:
    """Tells whether the object was written for this generation of this very Work, not for one that had its name
    before."""
    generation = annotations_of(observed).get(WORK_GENERATION_ANNOTATION)
    return generation == str(work.metadata.generation) and has_work_id(observed, manifest)


def is_left(observed: ReadOnlyManifest, work: Work) -> bool:
    """Tells whether object and Work are as Karmada has left them: never written by us, nor the Work by others since."""
    applied = work.applied.observed_generation if work.applied is not None else 0
    is_as_found = RENDERED_ANNOTATION not in work.metadata.annotations and applied in (0, work.metadata.generation)
    return is_as_found and WORK_GENERATION_ANNOTATION not in annotations_of(observed)


def shows(observed: ReadOnlyManifest, manifest: ReadOnlyManifest, retained: ReadOnlyManifest) -> bool:
    """Tells whether the object has what a manifest of its Work asks for, and no more; `retained` as in `merge`."""
    return (
        has_work_id(observed, manifest)
        and covers(observed, merge(manifest, observed, retained))
        and has_no_more(observed, retained)
    )


def has_no_more(observed: ReadOnlyManifest, retained: ReadOnlyManifest) -> bool:
    """Tells whether nothing that was taken out of the Work, by whom nobody knows, is left in the object."""
    return all(is_equal(observed.get(field) or None, retained.get(field) or None) for field in _WHOLE)


def has_work_id(observed: ReadOnlyManifest, manifest: ReadOnlyManifest) -> bool:
    """Tells whether an object carries the permanent id that `manifest` has from its Work; True where it has none."""
    work_id = labels_of(manifest).get(WORK_ID_LABEL)
    return work_id in (None, labels_of(observed).get(WORK_ID_LABEL))


def is_shrunk_by_a_restore(observed: ReadOnlyManifest, desired: ReadOnlyManifest, work: Work) -> bool:
    """Tells whether an object would lose replicas that a later state of its very Work has given it.

    The control plane was restored, with placements of before: the cluster that has taken over is to have fewer
    replicas. It keeps them while the restored placement is looked at again. Holds: S1.
    """
    written = annotations_of(observed).get(WORK_GENERATION_ANNOTATION, "")
    work_id = labels_of(desired).get(WORK_ID_LABEL)
    is_later = written.isdecimal() and len(written) < 19 and int(written) > work.metadata.generation
    is_same_work = work_id is not None and labels_of(observed).get(WORK_ID_LABEL) == work_id
    return is_later and is_same_work and int_at(desired, "spec", "replicas") < int_at(observed, "spec", "replicas")
