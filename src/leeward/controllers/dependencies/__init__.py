"""The dependencies distributor: objects that a template names follow it, by attached bindings."""
