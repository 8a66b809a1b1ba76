"""Operations on a control plane: cordon, drain, taint, the brake, and looking at how it is.

    looked = await look_at_fleet(client, clock)      status: what is wrong first, then the clusters
    await change_taints(client, "member1", with_taint(CORDON))

Everything here works over a `Client`, whatever API server is behind it: the embedded one, a kube-apiserver, or
Karmada's own. The command line calls it, and so can anything else that shows a fleet. Nothing here prints, reads files,
starts processes, or decides what the controllers decide.
"""

from leeward.operations.errors import OperationFailed

__all__ = ["OperationFailed"]
