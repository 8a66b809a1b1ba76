"""Examples of each verb, with which its help ends. A test reads each of them as a shell gives it to the program."""

from collections.abc import Mapping

import click

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "up": (
        "leeward up",
        "leeward up --member eu=push --member us=push --member edge=pull --detach",
        "leeward up --timing fast --failover-eviction-timeout 10s",
    ),
    "down": ("leeward down",),
    "member": ("leeward member stop member1", "leeward member add member4=pull"),
    "member add": ("leeward member add member4", "leeward member add edge=pull"),
    "member remove": ("leeward member remove member4", "leeward member remove member4 --force"),
    "member stop": ("leeward member stop member1", "leeward member stop edge --only agent"),
    "member start": ("leeward member start member1",),
    "member pause": ("leeward member pause member1",),
    "member resume": ("leeward member resume member1",),
    "member stall": ("leeward member stall member1",),
    "member serve": ("leeward member serve member1",),
    "member slow": ("leeward member slow member1 --latency 2s",),
    "member unready": ("leeward member unready member1",),
    "member ready": ("leeward member ready member1",),
    "logs": ("leeward logs controllers", "leeward logs member1 --tail 50 --follow"),
    "demo": ("leeward demo", "leeward demo --keep"),
    "dashboard": (
        "leeward dashboard --open",
        "leeward dashboard --kubeconfig K --listen 127.0.0.1:8733 --allow-actions",
    ),
    "status": ("leeward status", "leeward status --watch", "leeward status -o json --kubeconfig K"),
    "drain": ("leeward drain member1", "leeward drain member1 --budget 5", "leeward drain member1 --undo"),
    "cordon": ("leeward cordon member1",),
    "uncordon": ("leeward uncordon member1",),
    "taint": ("leeward taint member1 maintenance=true:NoSchedule", "leeward taint member1 maintenance:NoSchedule-"),
    "confirm": ("leeward confirm member1",),
    "brake": ("leeward brake status", "leeward brake release"),
    "brake status": ("leeward brake status",),
    "brake release": ("leeward brake release --kubeconfig K",),
    "rollout": ("leeward rollout status deploy/web -n shop", "leeward rollout undo deploy/web -n shop"),
    "rollout status": ("leeward rollout status deploy/web -n shop",),
    "rollout pause": ("leeward rollout pause deploy/web -n shop",),
    "rollout resume": ("leeward rollout resume deploy/web -n shop",),
    "rollout undo": ("leeward rollout undo deploy/web -n shop",),
    "orphans": ("leeward orphans", "leeward orphans --delete", "leeward orphans --delete --shared --yes"),
    "backup": ("leeward backup fleet.backup", "leeward backup member1.backup --member member1"),
    "restore": ("leeward restore fleet.backup", "leeward restore member1.backup --member member1 --yes"),
    "standby": ("leeward standby --data-dir hub2 --from ~/.leeward", "leeward standby --data-dir hub2"),
    "take-over": ("leeward take-over", "leeward take-over --kubeconfig K --yes"),
    "explain": (
        "leeward explain deploy/web -n shop",
        "leeward explain cluster/member1",
        "leeward explain deploy/web -n shop --record decision.json",
    ),
    "what-if": (
        "leeward what-if --fail member1",
        "leeward what-if --fail member1,member2 --recover-after 30m",
        "leeward what-if --apply policy.yaml",
        "leeward what-if --scale deploy/web=9 -n shop",
    ),
    "resilience": ("leeward resilience", "leeward resilience --by region", "leeward resilience --n 2 -o json"),
    "lint": ("leeward lint manifests/", "leeward lint", "leeward lint manifests/ -o sarif"),
    "render": ("leeward render deploy/web -n shop", "leeward render deploy/web -f override.yaml --diff"),
    "timeline": ("leeward timeline", "leeward timeline --cluster member1 --since 24h", "leeward timeline -o markdown"),
    "snapshot": ("leeward snapshot fleet.json", "leeward snapshot fleet.json --kubeconfig K"),
    "rehearse": ("leeward rehearse region-lost.yaml", "leeward rehearse region-lost.yaml --from fleet.json"),
    "replay": ("leeward replay decision.json",),
    "init": ("leeward init --kubeconfig K",),
    "deinit": ("leeward deinit --kubeconfig K",),
    "adopt": ("leeward adopt --plan --kubeconfig K", "leeward adopt --yes --kubeconfig K"),
    "hand-back": ("leeward hand-back --plan --kubeconfig K", "leeward hand-back --yes --kubeconfig K"),
    "join": (
        "leeward join member1 --cluster-kubeconfig M --kubeconfig K",
        "leeward join member1 --cluster-kubeconfig M --cluster-region eu-1 --cluster-zone eu-1a",
    ),
    "unjoin": ("leeward unjoin member1 --kubeconfig K",),
    "token": ("leeward token create --cluster member2", "leeward token list"),
    "token create": (
        "leeward token create --cluster member2 --print-register-command",
        "leeward token create --ttl 1h",
    ),
    "token list": ("leeward token list",),
    "token delete": ("leeward token delete abcdef",),
    "register": (
        "leeward register HOST:6443 --token abcdef.0123456789abcdef "
        "--discovery-token-ca-cert-hash sha256:HEX --cluster-name member2",
    ),
    "unregister": ("leeward unregister member2 --kubeconfig K",),
    "serve": ("leeward serve --kubeconfig K", "leeward serve --kubeconfig K --shards 4"),
    "controller-manager": ("leeward controller-manager --kubeconfig K",),
    "scheduler": ("leeward scheduler --kubeconfig K",),
    "webhook": ("leeward webhook --kubeconfig K --url https://HOST:8443",),
    "cluster-proxy": ("leeward cluster-proxy --kubeconfig K --url https://HOST:8444",),
    "agent": ("leeward agent --cluster-name member2 --karmada-kubeconfig karmada-agent.kubeconfig --kubeconfig M",),
    "descheduler": ("leeward descheduler --kubeconfig K",),
    "scheduler-estimator": (
        "leeward scheduler-estimator --cluster-name member1 --kubeconfig M "
        "--grpc-auth-cert-file tls.crt --grpc-auth-key-file tls.key",
    ),
    "apiserver": ("leeward apiserver --data-dir DIR",),
    "completion": ("source <(leeward completion bash)",),
    "version": ("leeward version", "leeward version -o json"),
}
"""Lines by verb, the verb of a group behind the group. K is the control plane's kubeconfig, M a member's."""


def with_examples(command: click.Command, path: str) -> click.Command:
    """Gives a verb, and the verbs of a group, the end of their help."""
    if path in EXAMPLES:
        lines = "\n".join(f"  {line}" for line in EXAMPLES[path])
        command.epilog = f"\b\nExamples:\n{lines}"
    for name, verb in command.commands.items() if isinstance(command, click.Group) else ():
        with_examples(verb, f"{path} {name}")
    return command
