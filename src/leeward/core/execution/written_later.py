"""Objects that were written for a later state of their Work than is known: the control plane was restored.

The backup has placements of before: a cluster that is dead has its part again, and what has taken over in another one
is to have fewer replicas. It keeps them while what was restored is looked at again: until its Work asks for something
else than was found, or for as long as a failover takes. An object carries the generation of its Work, and its permanent
id, which no other Work of its name has.
"""

from kubeapi.meta import ReadOnlyManifest, annotations_of, labels_of
from kubeapi.unstructured import int_at
from leeward.api.names import WORK_GENERATION_ANNOTATION, WORK_ID_LABEL
from leeward.api.work import Work


def is_shrunk_by_a_restore(observed: ReadOnlyManifest, desired: ReadOnlyManifest, work: Work) -> bool:
    """Tells whether an object would lose replicas that a later state of its very Work has given it. Holds: S1."""
    written = annotations_of(observed).get(WORK_GENERATION_ANNOTATION, "")
    work_id = labels_of(desired).get(WORK_ID_LABEL)
    is_later = written.isdecimal() and int(written) > work.metadata.generation
    is_same_work = work_id is not None and labels_of(observed).get(WORK_ID_LABEL) == work_id
    return is_later and is_same_work and int_at(desired, "spec", "replicas") < int_at(observed, "spec", "replicas")
