"""Manifests rendered with override policies, and their admission, for the controllers that write Works."""
