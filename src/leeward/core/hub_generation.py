"""Generation of a hub: of two copies of one control plane, the one that took over last is the hub.

    hub      annotation leeward.dev/hub-generation of its Namespace kube-system, which `leeward take-over` raises
    member   annotation leeward.dev/hub-fence of its Namespace kube-system: the newest generation of each hub, as JSON

A hub with an older generation than its member knows is fenced there. It sends nothing, and what it cannot see is
neither healthy nor gone (Holds: S1, S5). A member fences itself alone, so that one that lies harms no other (S10).

Hubs are told apart by their identity. A hub that never took over has generation 0, and marks no member.
"""

from collections.abc import Mapping, Sequence

from kubeapi import codec

HUB_GENERATION_ANNOTATION, HUB_FENCE_ANNOTATION = "leeward.dev/hub-generation", "leeward.dev/hub-fence"
MOST_HUBS = 64
LARGEST_GENERATION = 2**53
"""Bound on what is read: a larger number is not exact in every reader of JSON."""


class UnreadableGeneration(ValueError):
    """An annotation that holds no generation; the message names it, and the way out."""


def generation_of(annotations: Mapping[str, str]) -> int:
    """Generation of the hub with these annotations of its Namespace `kube-system`. Raises: UnreadableGeneration."""
    text = annotations.get(HUB_GENERATION_ANNOTATION, "0")
    if not text.isascii() or not text.isdigit() or len(text) > 16 or int(text) > LARGEST_GENERATION:
        raise UnreadableGeneration(
            f"the annotation {HUB_GENERATION_ANNOTATION} of the hub's Namespace kube-system is no number: "
            "`leeward take-over` writes it anew"
        )
    return int(text)


def fences_of(annotations: Mapping[str, str]) -> dict[str, int]:
    """Newest generations by hub that a member with these annotations has met. Raises: UnreadableGeneration."""
    text = annotations.get(HUB_FENCE_ANNOTATION, "")
    if not text:
        return {}
    try:
        fences = codec.decode(text.encode(), dict[str, int])
    except codec.DecodeError:
        fences = None
    if (
        fences is None
        or len(fences) > MOST_HUBS
        or not all(0 <= each <= LARGEST_GENERATION for each in fences.values())
    ):
        raise UnreadableGeneration(
            f"the annotation {HUB_FENCE_ANNOTATION} of the cluster's Namespace kube-system cannot be read: nothing is "
            "done there; remove the annotation"
        )
    return fences


def render_fences(fences: Mapping[str, int]) -> str:
    """The annotation of a member, in which the same hubs are always the same text."""
    return codec.encode(dict(sorted(fences.items()))).decode()


def problem_of_generation(own: int, met: int) -> str:
    """The reason why a hub does nothing in a member that has met this generation of it; empty where there is none."""
    if met <= own:
        return ""
    return (
        f"another hub has taken over: the cluster obeys generation {met} of this control plane, and this one is "
        f"generation {own}; nothing is done there. Stop this one, or make it the hub again with `leeward take-over`"
    )


def hub_to_follow(generations: Sequence[int | None], current: int | None, newest: int) -> int | None:
    """Index of the address that an agent follows: the first one listed of the newest generation.

    None of `generations` is an address without an answer. `newest` is the newest one ever seen: no older one counts. A
    hub that is silent is left for a newer generation alone: a copy of its own generation has not taken over.
    """
    answered = {index: each for index, each in enumerate(generations) if each is not None and each >= newest}
    best = max(answered.values(), default=None)
    if best is None or (current is not None and best == newest and current not in answered):
        return current
    return next(index for index, each in answered.items() if each == best)
