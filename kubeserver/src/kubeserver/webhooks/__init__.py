"""Calling out: where a webhook of an admission or a conversion is, and how it is reached. Asks nothing itself."""
