"""Objects that are linted: a manifest, where it stands, and what is asked of it."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from kubeapi.meta import Manifest, annotations_of, labels_of
from kubeapi.untrusted import mapping_in, text_in
from kubeapi.yaml_lines import FieldPath, LocatedDocument
from leeward.api.names import LINT_IGNORE_ANNOTATION
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.work import Binding

KARMADA_GROUPS = frozenset({"policy.karmada.io", "cluster.karmada.io", "work.karmada.io", "config.karmada.io"})
POLICY_KINDS = ("PropagationPolicy", "ClusterPropagationPolicy")
EPOCH = datetime.fromtimestamp(0, UTC)
"""The instant of what is judged without a clock."""
_STEP = re.compile(r"\[(\d+)\]|\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True, eq=False)
class LintObject:
    """`document` is where it stands in `file`; both are empty for an object of a control plane.

    `has_contents`: the manifest is all there is, and not its metadata alone. `is_asked`: findings of it are wanted.
    """

    manifest: Manifest
    file: str = ""
    document: LocatedDocument | None = None
    has_contents: bool = True
    is_asked: bool = True

    @cached_property
    def api_version(self) -> str:
        return text_in(self.manifest, "apiVersion")

    @cached_property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @cached_property
    def kind(self) -> str:
        return text_in(self.manifest, "kind")

    @cached_property
    def name(self) -> str:
        return text_in(mapping_in(self.manifest, "metadata"), "name")

    @cached_property
    def namespace(self) -> str:
        return text_in(mapping_in(self.manifest, "metadata"), "namespace")

    @cached_property
    def labels(self) -> dict[str, str]:
        return {key: value for key, value in labels_of(self.manifest).items() if isinstance(value, str)}  # pyright: ignore[reportUnnecessaryIsInstance]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Identity that no two objects of one control plane have in common."""
        return self.group, self.kind, self.namespace, self.name

    @property
    def is_policy(self) -> bool:
        return self.group == "policy.karmada.io" and self.kind in POLICY_KINDS

    @property
    def is_template(self) -> bool:
        """Tells whether it can be propagated: Karmada's own kinds cannot."""
        return self.group not in KARMADA_GROUPS

    @cached_property
    def ignored_rules(self) -> frozenset[str]:
        """Ids of rules, as its annotation says."""
        text = str(annotations_of(self.manifest).get(LINT_IGNORE_ANNOTATION) or "")
        return frozenset(part.strip() for part in text.split(",") if part.strip())

    def unasked(self) -> "LintObject":
        """Object without findings of its own."""
        return replace(self, is_asked=False)

    def line_of(self, path: FieldPath = ()) -> int:
        """0 where it is in no file."""
        return 0 if self.document is None else self.document.line_of(path)

    def __str__(self) -> str:
        return f"{self.kind} {'/'.join(filter(None, (self.namespace, self.name)))}"


@dataclass(frozen=True, eq=False)
class LintPolicy:
    """A policy as the control plane would keep it, and the object that it is read from."""

    source: LintObject
    policy: AnyPropagationPolicy

    def __str__(self) -> str:
        return str(self.source)


@dataclass(frozen=True, eq=False)
class ClaimedTemplate:
    """A template, the policy that claims it, and the binding that results."""

    template: LintObject
    policy: LintPolicy
    binding: Binding

    @property
    def objects(self) -> tuple[LintObject, ...]:
        return self.template, self.policy.source


def path_of(field: str) -> FieldPath:
    """The inverse of `findings.field_text`, for fields that validation names."""
    return [int(index) if index else key or name for index, key, name in _STEP.findall(field)]
