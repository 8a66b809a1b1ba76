"""Base that a Kubernetes API server and its clients share, whatever they are for.

Objects as they are on the wire (`meta`, `status`, `resource`), reading and writing them (`codec`, `yaml_reading`),
values inside them (`quantity`, `selectors`, `jsonpath`, `field`, `diff`), the way that a request goes (`transport`,
with one tree of `errors`), and what asynchronous code is given (`loop`).

Never opens a connection, decides nothing, and imports neither `kubeserver` nor `leeward`.
"""
