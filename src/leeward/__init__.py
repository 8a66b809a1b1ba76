"""Leeward: a control plane for many Kubernetes clusters that keeps applications running when one dies."""

__version__ = "0.1.0"
