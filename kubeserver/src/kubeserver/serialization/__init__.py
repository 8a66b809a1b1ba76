"""Serialization: JSON text, YAML and protobuf. Knows no kind."""
