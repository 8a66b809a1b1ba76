"""Node ports of a Service: in a member they are the member's choice, unless somebody has asked for one.

A port is the same port as long as number and protocol are; else as long as its name is, where no other port is meant.
"""

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import int_at, mappings_at, text_at, value_at

NODE_PORT, HEALTH_PORT = "nodePort", "healthCheckNodePort"
PortKey = tuple[int, str]
"""Number and protocol: no two ports of a Service have the same."""
_OPENED = ("NodePort", "LoadBalancer")


def is_opened(service: ReadOnlyManifest) -> bool:
    """Tells whether it is a Service that is reached at its nodes."""
    is_service = (service.get("apiVersion"), service.get("kind")) == ("v1", "Service")
    return is_service and text_at(service, "spec", "type") in _OPENED


def port_key(port: ReadOnlyManifest) -> PortKey:
    return int_at(port, "port"), text_at(port, "protocol") or "TCP"


def node_ports_of(service: ReadOnlyManifest) -> dict[PortKey, int]:
    """The node ports that a Service has."""
    ports = mappings_at(service, "spec", "ports")
    return {port_key(port): given for port in ports if (given := int_at(port, NODE_PORT))}


def drop_ports(service: Manifest) -> None:
    """Takes the node ports of a Service away."""
    if is_opened(service):
        service["spec"].pop(HEALTH_PORT, None)
        for port in mappings_at(service, "spec", "ports"):
            port.pop(NODE_PORT, None)


def retain_node_ports(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Gives the ports of `desired` that ask for none what the member has chosen for them, and each one once for
    a protocol: kube-apiserver gives TCP and UDP of one number the same node port."""
    if not is_opened(desired) or value_at(desired, "spec", "allocateLoadBalancerNodePorts") is False:
        return
    by_key = node_ports_of(observed)
    taken = {(given, protocol) for (_, protocol), given in node_ports_of(desired).items()}
    by_name = {text_at(port, "name"): int_at(port, NODE_PORT) for port in mappings_at(observed, "spec", "ports")}
    open_ports = [port for port in mappings_at(desired, "spec", "ports") if not int_at(port, NODE_PORT)]
    wishes = [(port, by_key.get(port_key(port), 0)) for port in open_ports]
    wishes += [(port, by_name.get(text_at(port, "name"), 0)) for port in open_ports]
    for port, chosen in wishes:
        claimed = chosen, port_key(port)[1]
        if chosen and claimed not in taken and not int_at(port, NODE_PORT):
            port[NODE_PORT] = chosen
            taken.add(claimed)
