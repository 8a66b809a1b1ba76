"""Steps of users about what goes along with applications: override policies, what templates name, and scripts."""

from typing import Literal

from simulator.histories.step import UserStep

Provided = Literal["ConfigMap", "Secret", "PersistentVolumeClaim"]
Question = Literal["replicas", "revision", "status", "aggregation", "health", "dependencies"]
Trouble = Literal["fails", "endless", "absurd"]


class Override(UserStep, frozen=True, kw_only=True):
    """An override policy is made, or changed: what `app` is in each of these clusters. `wide`: a
    ClusterOverridePolicy. `replicas`: how many replicas it has there, 0 for as many as are assigned."""

    app: str
    name: str
    version: int
    clusters: tuple[str, ...]
    wide: bool = False
    replicas: int = 0


class BreakOverride(UserStep, frozen=True, kw_only=True):
    """The policy is changed into one that cannot be carried out, and mended `lasts` seconds later."""

    name: str
    lasts: float
    wide: bool = False

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts


class Unoverride(UserStep, frozen=True, kw_only=True):
    """The policy is deleted."""

    name: str
    wide: bool = False


class Provide(UserStep, frozen=True, kw_only=True):
    """An object is made that templates can name, or gets other contents; with a policy of its own where it has
    `clusters`."""

    name: str
    what: Provided
    version: int = 1
    clusters: tuple[str, ...] = ()


class Read(UserStep, frozen=True, kw_only=True):
    """The template names these objects from now on, and no others."""

    app: str
    reads: tuple[str, ...]


class Explain(UserStep, frozen=True, kw_only=True):
    """The kind of scripted applications is defined, in all clusters, and explained by scripts; or these change."""

    version: int = 1


class BreakScript(UserStep, frozen=True, kw_only=True):
    """Step in which one of the scripts is changed into one that gives no answer, and mended `lasts` seconds later."""

    question: Question
    trouble: Trouble
    lasts: float

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts


AnyPropagationStep = Override | BreakOverride | Unoverride | Provide | Read | Explain | BreakScript
