"""Installation: `leeward init` puts it into a control plane of a real kube-apiserver, and `deinit` takes it out."""
