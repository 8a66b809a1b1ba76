"""Rights and certificates of the agents of Pull members; `agent_roles` are shared by all three controllers."""
