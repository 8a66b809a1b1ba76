"""Serving over HTTPS: connections, bodies within bounds, watches and upgraded connections. Knows no kind."""
