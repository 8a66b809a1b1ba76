"""FederatedResourceQuota: how much the workloads of a namespace may ask for, in all clusters together and in each.

    usage                what a binding asks for where it is assigned, and what several ask for together
    enforcement          whether a write may let the usage of its namespace grow
    static_assignments   the Works that bring a ResourceQuota to each cluster that the quota names
    quota_status         what the quota says of itself: the limit, what is used, and what clusters report
    quota_room           how much room a cluster's ResourceQuotas leave

Karmada: pkg/controllers/federatedresourcequota, pkg/webhook/resourcebinding, pkg/estimator (`ResourceQuotaEstimator`).
"""
