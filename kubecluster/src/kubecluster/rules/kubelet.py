"""The life of a Pod on its node: its status at each stage, and the length of each stage.

bound ─▸ Pending (ContainerCreating) ─start-up▸ Running, Ready ─only Pods of Jobs▸ Succeeded
                  ├─start-up, image cannot be pulled▸ Pending (ImagePullBackOff)
                  ├─start-up, image of a registry that there is not▸ Pending (ErrImagePull)
                  ├─start-up, a variable's source is missing▸ Pending (CreateContainerConfigError)
                  └─start-up, a volume's source is missing▸ stays as it is
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import chain
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeapi.unstructured import list_at, mapping_at, text_at
from kubecluster.rules.conditions import put_condition
from kubecluster.rules.owners import is_controlled_by
from kubecluster.rules.pods import is_finished, node_of
from kubecluster.rules.references import all_containers

BROKEN_TAG = "broken"
_NO_REGISTRY = re.compile(r"(?:fake|(?:fake|fictional)\.[^/]+|[^/]+\.invalid(?::\d+)?)/.*", re.DOTALL)
"""Images of a registry that there is nowhere: `fake/...`, `fake.REST/...`, `fictional.REST/...`, and of `.invalid`."""
_SLEEP = re.compile(r"(?:.*[\s;&])?sleep (?P<amount>\d{1,9}(?:\.\d+)?)(?P<unit>[smh]?)", re.DOTALL)
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
Container = Mapping[str, Any]
State = Callable[[ReadOnlyManifest, Container], Mapping[str, Any]]
PULL_BACK_OFF, PULL_ERROR, CONFIG_ERROR = "ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError"
_OBSTACLES = (PULL_BACK_OFF, PULL_ERROR, CONFIG_ERROR)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Reason for which a container waits."""

    reason: str
    message: str


class Stage(Enum):
    """Stage at which a Pod stands; `BOUND` has a node and has not been seen by the kubelet."""

    ELSEWHERE = "not on a node"
    BOUND = "bound"
    CREATING = "creating"
    BLOCKED = "a container cannot be created"
    RUNNING = "running"
    FINISHED = "finished"


def stage_of(pod: ReadOnlyManifest) -> Stage:
    if not node_of(pod):
        return Stage.ELSEWHERE
    if is_finished(pod):
        return Stage.FINISHED
    if text_at(pod, "status", "phase") == "Running":
        return Stage.RUNNING
    if not text_at(pod, "status", "startTime"):
        return Stage.BOUND
    return Stage.BLOCKED if _is_blocked(pod) else Stage.CREATING


def obstacles_of(pod: ReadOnlyManifest, environment: Mapping[str, str]) -> Mapping[str, Obstacle]:
    """Obstacles that keep containers from being created, by their names; `environment`: what is wrong with their
    variables."""
    broken = {c["name"]: _unpullable(c) for c in all_containers(pod) if _is_broken(c)}
    return {name: Obstacle(CONFIG_ERROR, message) for name, message in environment.items()} | broken


def is_of_job(pod: ReadOnlyManifest) -> bool:
    return is_controlled_by(pod, "Job")


def starting_status(pod: ReadOnlyManifest, host_ip: str, now: datetime) -> Manifest:
    """The kubelet has accepted the Pod."""
    started = {"hostIP": host_ip, "hostIPs": [{"ip": host_ip}], "startTime": format_time(now)}
    status = {**mapping_at(pod, "status"), **started, "phase": "Pending"}
    return _with_containers(pod, status, _creating, now)


def running_status(pod: ReadOnlyManifest, pod_ip: str, now: datetime) -> Manifest:
    """All containers run and are ready; init containers have ended, except those that go on beside the others."""
    status = {**mapping_at(pod, "status"), "phase": "Running", "podIP": pod_ip, "podIPs": [{"ip": pod_ip}]}
    return _with_containers(pod, status, lambda _, container: _running(container, now), now)


def blocked_status(pod: ReadOnlyManifest, obstacles: Mapping[str, Obstacle], now: datetime) -> Manifest:
    """Status of a Pod of which some containers cannot be created; the others wait with them."""

    def state(pod: ReadOnlyManifest, container: Container) -> Mapping[str, Any]:
        obstacle = obstacles.get(container["name"])
        return (
            _creating(pod, container)
            if obstacle is None
            else {"waiting": {"reason": obstacle.reason, "message": obstacle.message}}
        )

    return _with_containers(pod, mapping_at(pod, "status"), state, now)


def asked_seconds(pod: ReadOnlyManifest) -> float | None:
    """Seconds that its containers ask to run by a command that ends with `sleep`; None where none does."""
    found: list[float] = []
    for container in list_at(pod, "spec", "containers"):
        words = " ".join(map(str, (*list_at(container, "command"), *list_at(container, "args"))))
        if (sleep := _SLEEP.fullmatch(words)) is not None:
            found.append(float(sleep["amount"]) * _UNITS[sleep["unit"]])
    return max(found, default=None)


def succeeded_status(pod: ReadOnlyManifest, now: datetime) -> Manifest:
    """All containers have ended well."""
    status = {**mapping_at(pod, "status"), "phase": "Succeeded"}
    return _with_containers(pod, status, lambda _, container: _terminated(now), now)


def _with_containers(pod: ReadOnlyManifest, status: Mapping[str, Any], state: State, now: datetime) -> Manifest:
    """The status with the container statuses, and the conditions that follow from them."""
    main = [_container_status(pod, c, state(pod, c)) for c in list_at(pod, "spec", "containers")]
    initial = [_container_status(pod, c, _initial(pod, c, state, now)) for c in list_at(pod, "spec", "initContainers")]
    statuses = {"containerStatuses": main, **({"initContainerStatuses": initial} if initial else {})}
    conditions: Sequence[Mapping[str, Any]] = list_at(status, "conditions")
    for condition in _conditions(status["phase"], main, initial):
        conditions = put_condition(conditions, condition, now)
    return {**status, **statuses, "conditions": list(conditions)}


def _conditions(phase: str, main: Sequence[Container], initial: Sequence[Container]) -> Iterable[Mapping[str, Any]]:
    unready = [status["name"] for status in main if not status["ready"]]
    uninitialized = [status["name"] for status in initial if not status["ready"]]
    why_unready = _reason("ContainersNotReady", "unready", unready) if phase != "Succeeded" else _completed(unready)
    why_uninitialized = _reason("ContainersNotInitialized", "incomplete", uninitialized)
    has_network = not any("waiting" in status["state"] for status in main)
    yield {"type": "PodReadyToStartContainers", "status": str(has_network)}
    yield {"type": "Initialized", "status": str(not uninitialized), **why_uninitialized}
    yield {"type": "Ready", "status": str(not unready), **why_unready}
    yield {"type": "ContainersReady", "status": str(not unready), **why_unready}
    yield {"type": "PodScheduled", "status": "True"}


def _reason(reason: str, what: str, names: Sequence[str]) -> Mapping[str, str]:
    if not names:
        return {}
    return {"reason": reason, "message": f"containers with {what} status: [{' '.join(names)}]"}


def _completed(unready: Sequence[str]) -> Mapping[str, str]:
    return {"reason": "PodCompleted"} if unready else {}


def _container_status(pod: ReadOnlyManifest, container: Container, state: Mapping[str, Any]) -> Manifest:
    """A container is ready while it runs, an init container also when it has ended."""
    runs = "running" in state
    is_initial = any(container is initial for initial in list_at(pod, "spec", "initContainers"))
    begun = "waiting" not in state
    identity = {"imageID": _image_id(container), "containerID": _container_id(pod, container)}
    return {
        "name": container["name"],
        "image": text_at(container, "image"),
        **(identity if begun else {"imageID": ""}),
        "ready": runs or (is_initial and "terminated" in state),
        "started": runs,
        "restartCount": 0,
        "state": dict(state),
        "lastState": {},
    }


def _creating(pod: ReadOnlyManifest, container: Container) -> Mapping[str, Any]:
    waiting = "PodInitializing" if list_at(pod, "spec", "initContainers") else "ContainerCreating"
    return {"waiting": {"reason": waiting}}


def _unpullable(container: Container) -> Obstacle:
    image = text_at(container, "image")
    if _NO_REGISTRY.fullmatch(image):
        return Obstacle(PULL_ERROR, f'failed to pull and unpack image "{image}": failed to resolve reference "{image}"')
    return Obstacle(PULL_BACK_OFF, f'Back-off pulling image "{image}"')


def _running(container: Container, now: datetime) -> Mapping[str, Any]:
    return {"running": {"startedAt": format_time(now)}}


def _terminated(now: datetime) -> Mapping[str, Any]:
    return {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": format_time(now)}}


def _initial(pod: ReadOnlyManifest, container: Container, state: State, now: datetime) -> Mapping[str, Any]:
    """An init container runs on beside the others only with restartPolicy Always."""
    outcome = state(pod, container)
    if "running" in outcome and container.get("restartPolicy") != "Always":
        return _terminated(now)
    return outcome


def _is_broken(container: Container) -> bool:
    image = text_at(container, "image")
    name = image.rpartition("/")[2].partition("@")[0]
    return name.partition(":")[2] == BROKEN_TAG or _NO_REGISTRY.fullmatch(image) is not None


def _is_blocked(pod: ReadOnlyManifest) -> bool:
    reported = chain(list_at(pod, "status", "initContainerStatuses"), list_at(pod, "status", "containerStatuses"))
    return any(text_at(status, "state", "waiting", "reason") in _OBSTACLES for status in reported)


def _image_id(container: Container) -> str:
    image = text_at(container, "image")
    path, slash, name = image.partition("@")[0].rpartition("/")
    return f"{path}{slash}{name.partition(':')[0]}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def _container_id(pod: ReadOnlyManifest, container: Container) -> str:
    name = f"{pod['metadata']['uid']}/{container['name']}"
    return f"leeward://{hashlib.sha256(name.encode()).hexdigest()}"
