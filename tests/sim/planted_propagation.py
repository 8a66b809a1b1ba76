"""Planted bugs of what goes along with applications, and of what clusters get in their own way."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

from kubeapi.json_document import Document
from leeward.api.cluster import Cluster
from leeward.controllers import override_rendering
from leeward.core.overrides import rendering
from leeward.core.overrides.applicable import rules_for
from leeward.core.overrides.override_rule import OverrideRule, Rules
from leeward.runtime.informer import Informer
from leeward.runtime.override_matching import OverrideMatching
from leeward.sim.histories.steered.propagation import overridden
from tests.sim.planted_harm import Harm, both, steered

LATE_SECONDS = 3.0


def _override_as_elsewhere() -> Any:
    """What one cluster is given is given to the next one, too."""
    seen: list[Cluster] = []

    def rules(cluster: Cluster, policies: Sequence[Rules]) -> Rules:
        seen.append(cluster)
        return rules_for(seen[-2:][0], policies)

    return mock.patch.object(override_rendering, "rules_for", rules)


def _override_by_half() -> Any:
    """What cannot be carried out is left out, and the rest is written."""
    apply = rendering._apply  # pyright: ignore[reportPrivateUsage]

    def as_far_as_it_goes(document: Document, rule: OverrideRule) -> None:
        try:
            apply(document, rule)
        except ValueError:
            return

    return mock.patch.object(rendering, "_apply", as_far_as_it_goes)


def _render_before_policies_are_known() -> Any:
    """Nobody waits until override policies have been listed, which takes its time."""
    run_list = Informer[Any]._list  # pyright: ignore[reportPrivateUsage]

    async def list_late(self: Informer[Any]) -> None:
        if self.resource.plural in ("overridepolicies", "clusteroverridepolicies"):
            await asyncio.sleep(LATE_SECONDS)
        await run_list(self)

    return both(
        mock.patch.object(Informer, "_list", list_late),
        mock.patch.object(OverrideMatching, "wait_synced", mock.AsyncMock()),
    )


PROPAGATION: Mapping[str, Harm] = {
    "override as elsewhere": Harm(_override_as_elsewhere, "S14", steered(overridden)),
    "override by half": Harm(_override_by_half, "S14", steered(overridden)),
    "render before policies are known": Harm(_render_before_policies_are_known, "S14", steered(overridden)),
}
