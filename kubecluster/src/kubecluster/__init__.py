"""Controllers by which an API server behaves like a cluster that runs something.

    Deployment ─▸ ReplicaSet ─▸ Pod ─▸ scheduler (nodeName) ─▸ kubelet (Running, Ready)
    StatefulSet, DaemonSet, Job ─▸ Pod
    Pod ─▸ PodDisruptionBudget (how many may be evicted)

The model: each arrow is one controller that reads its objects from a cache, asks a pure function of `rules` what
should be, and writes the difference. Nothing runs: a Pod is Ready when its start-up time has passed. All state lies
in the API server, so that a restart continues where the last process stopped.

Never adopts orphans, never deletes what belongs to a deleted owner (the API server's garbage collector does), and
never writes when nothing differs.

Start reading at `workloads.py`, then `platform.py` and `deployment.py`.
"""

from kubecluster.settings import WorkloadSettings
from kubecluster.workloads import Workloads

__all__ = ["WorkloadSettings", "Workloads"]
__version__ = "0.1.0"
