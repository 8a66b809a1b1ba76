"""Installation: what `leeward init` puts into a control plane that is a real kube-apiserver, and `deinit` takes out
again."""
