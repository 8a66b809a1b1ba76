"""Ground of controllers: caches that follow an API server, queues without duplicates, a loop that reconciles.

    Informer  --change-->  WorkQueue  --key-->  reconcile  --writes-->  Client
       ^                                                                  |
       +------------------------ the API server <-------------------------+

A key carries only a name, so that code which reacts to *what changed* instead of *what is* cannot be written.

Kubernetes: the parts of controller-runtime and of client-go's `tools`. Never knows a kind that is not Kubernetes' own.
"""

from controller_runtime.batcher import Batcher
from controller_runtime.bounded import keep_latest
from controller_runtime.burst_detector import BurstDetector
from controller_runtime.cache_budget import CacheBudget
from controller_runtime.controller import Controller
from controller_runtime.controller_metrics import ControllerMetrics
from controller_runtime.deleting import delete_seen
from controller_runtime.events import NORMAL, WARNING, EventRecorder, Note, Rank
from controller_runtime.identity import Key, key_of, reference_of, uid_of, version_of
from controller_runtime.index import Index, IndexOfMany
from controller_runtime.informer import Informer
from controller_runtime.informer_limits import InformerLimits
from controller_runtime.informers import Informers
from controller_runtime.leader import READING, ElectionSettings, FencedTransport, LeaderElector, Leadership, NotLeading
from controller_runtime.led_components import Led, LedComponents, fenced
from controller_runtime.packing import CachedObject, Packing, RecentObjects
from controller_runtime.presence import is_there
from controller_runtime.queue import WorkQueue
from controller_runtime.reflector import Reflector
from controller_runtime.resting import Rest
from controller_runtime.retrying import Backoff, Trouble, attempt
from controller_runtime.seen_patches import patch_seen
from controller_runtime.statuses import (
    BOOKKEEPING_SECONDS,
    NEWS_SECONDS,
    PROGRESS_SECONDS,
    StatusChange,
    Statuses,
    StatusWriters,
)
from controller_runtime.staying import StayingObjects

__all__ = [
    "BOOKKEEPING_SECONDS",
    "NEWS_SECONDS",
    "NORMAL",
    "PROGRESS_SECONDS",
    "READING",
    "WARNING",
    "Backoff",
    "Batcher",
    "BurstDetector",
    "CacheBudget",
    "CachedObject",
    "Controller",
    "ControllerMetrics",
    "ElectionSettings",
    "EventRecorder",
    "FencedTransport",
    "Index",
    "IndexOfMany",
    "Informer",
    "InformerLimits",
    "Informers",
    "Key",
    "LeaderElector",
    "Leadership",
    "Led",
    "LedComponents",
    "NotLeading",
    "Note",
    "Packing",
    "Rank",
    "RecentObjects",
    "Reflector",
    "Rest",
    "StatusChange",
    "StatusWriters",
    "Statuses",
    "StayingObjects",
    "Trouble",
    "WorkQueue",
    "attempt",
    "delete_seen",
    "fenced",
    "is_there",
    "keep_latest",
    "key_of",
    "patch_seen",
    "reference_of",
    "uid_of",
    "version_of",
]
