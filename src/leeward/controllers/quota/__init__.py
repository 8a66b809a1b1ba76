"""The two controllers of a FederatedResourceQuota: its status, and the ResourceQuotas of members."""
