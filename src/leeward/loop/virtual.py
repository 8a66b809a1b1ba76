"""`run_virtual` under the name that stories of users import; the repository itself imports `kubeapi.loop.virtual`."""

from kubeapi.loop import run_virtual

__all__ = ["run_virtual"]
