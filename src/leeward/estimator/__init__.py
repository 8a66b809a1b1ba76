"""The accurate estimator: how much room the nodes of one member really have, asked and answered over gRPC.

    node_room      free resources of each node, and what fits there: counted pod by pod as they change
    answering      what one member answers, from its nodes, Pods and ReplicaSets
    messages       questions and answers as bytes: Karmada's protobuf, of its releases before and after 1.18
    serving        the gRPC server: `leeward scheduler-estimator`, which Karmada's scheduler can ask, too
    grpc_port      its port, whose connections are bounded as those of all other ports
    channels       the gRPC client: one channel for each cluster's estimator, ours or Karmada's

Never decides: what an answer means for a placement is `core.scheduling.estimates`, and what replicas without a node
mean is `core.placement.descheduling`. gRPC is imported by `serving` and `channels` alone, and these only
by who uses them.
"""
