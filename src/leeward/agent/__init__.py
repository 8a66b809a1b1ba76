"""Pull mode: runs the member-side controllers next to a member, which the control plane need not be able to reach.

It registers the Cluster, renews its Lease, and carries out the Works of its own execution space. It touches nothing
else in the control plane, and decides nothing about where anything runs.
"""
