"""Custom resources: from a CustomResourceDefinition to kinds that are served, defaulted, pruned and checked."""
