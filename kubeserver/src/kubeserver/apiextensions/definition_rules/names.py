"""Names of a definition, and the group it is in."""

from urllib.parse import urlsplit

from kubeapi.field import Node, Problems
from kubeapi.status import Problem
from kubeserver.names import dns_1035_label, dns_subdomain

APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_MIXED = "may have mixed case, but should otherwise match: "


def name_problems(definition: Node) -> Problems:
    spec, name = definition["spec"], definition["metadata"]["name"]
    if name.text != f"{spec['names']['plural'].text}.{spec['group'].text}":
        yield name.invalid('must be spec.names.plural+"."+spec.group', name.text)


def group_problems(group: Node) -> Problems:
    if not group.text:
        yield group.required("")
    elif said := dns_subdomain(group.text):
        yield group.invalid(",".join(said))
    elif "." not in group.text:
        yield group.invalid("should be a domain with at least one dot")


def required_names(names: Node) -> Problems:
    for name in ("plural", "singular", "kind", "listKind"):
        if not names[name].text:
            yield names[name].required("")


def spec_name_problems(names: Node) -> Problems:
    for name in ("plural", "singular"):
        yield from _label_problems(names[name], names[name].text)
    for name in ("kind", "listKind"):
        yield from _label_problems(names[name], names[name].text.lower(), _MIXED)
    for short in names["shortNames"].items():
        yield from _label_problems(short, short.text, given=True)
    kind, list_kind = names["kind"].text, names["listKind"]
    if kind and kind == list_kind.text:
        yield list_kind.invalid("kind and listKind may not be the same")
    for category in names["categories"].items():
        yield from _label_problems(category, category.text, given=True)


def _label_problems(name: Node, text: str, said: str = "", *, given: bool = False) -> Problems:
    faults = dns_1035_label(text) if text or given else []
    if faults:
        yield name.invalid(said + ",".join(faults), name.text)


def approval_problems(definition: Node, old: Node) -> Problems:
    """Groups of Kubernetes' own are for what its community has approved of."""
    group = definition["spec"]["group"].text
    if group not in _PROTECTED and not group.endswith(tuple(f".{protected}" for protected in _PROTECTED)):
        return
    said = _approval_of(definition)
    state = _state_of(said)
    if state == "sound" or (old.is_set and state == _state_of(_approval_of(old))):
        return
    path = f"metadata.annotations[{APPROVAL}]"
    if state == "missing":
        yield Problem.required(path, f'protected groups must have approval annotation "{APPROVAL}", {_SEE}')
    else:
        either = 'with either a URL or a reason starting with "unapproved"'
        yield Problem.invalid(
            path, said, f'protected groups must have approval annotation "{APPROVAL}" {either}, {_SEE}'
        )


def _approval_of(definition: Node) -> str:
    return definition["metadata"]["annotations"][APPROVAL].text


def _state_of(approval: str) -> str:
    if not approval:
        return "missing"
    url = urlsplit(approval)
    return "sound" if approval.startswith("unapproved") or (url.scheme and url.netloc) else "broken"
