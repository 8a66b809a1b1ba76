"""Texts of flags as values. Every function raises ValueError with the fault and the way out."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from kubeapi.quantity import parse_quantity
from leeward.api.purge_mode import TAINT_PURGE_MODES, PurgeMode
from leeward.api.rules.member_addresses import parse_networks
from leeward.core.propagation.skipping import parse_skipped_apis
from leeward.manager.choice import parse_choice
from leeward.manager.gates import FeatureGates, switch_gates

__all__ = ["parse_networks", "parse_skipped_apis"]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")
_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


class Address(NamedTuple):
    """Address to listen at; an empty host is every one of this machine."""

    host: str
    port: int


def parse_duration(text: str) -> float:
    """Go's form, `1m30s`, in seconds; never negative."""
    if text == "0":
        return 0.0
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is no duration: write 2s, 500ms or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def parse_positive_duration(text: str) -> float:
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError("it must be longer than 0s")
    return seconds


def parse_boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return value


def parse_tracing(text: str) -> bool:
    """Boolean that asks for an optional library. Raises: ValueError where that is not installed."""
    wanted = parse_boolean(text)
    try:
        is_there = not wanted or find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise ValueError("OpenTelemetry is not installed; run: pip install 'leeward[tracing]'")
    return wanted


def parse_count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is no whole number of at least 1")
    return int(text)


def parse_amount(text: str) -> int:
    """Number of bytes, as a quantity of Kubernetes: `256Mi`."""
    try:
        amount = int(parse_quantity(text))
    except ValueError:
        amount = 0
    if amount < 1:
        raise ValueError(f"{text!r} is no amount of bytes, as 256Mi")
    return amount


def parse_shard(text: str) -> int | Literal["leader"]:
    if text == "leader":
        return "leader"
    if not text.isdecimal():
        raise ValueError(f"{text!r} is neither the number of a shard, from 0, nor leader")
    return int(text)


def parse_toleration(text: str) -> int:
    """Seconds; a negative number switches the default toleration off."""
    if not re.fullmatch(r"-?\d+", text):
        raise ValueError(f"{text!r} is no whole number of seconds (a negative one switches the toleration off)")
    return int(text)


def parse_rate(text: str) -> float:
    """Parses a number that is not negative. Raises: ValueError."""
    if not re.fullmatch(r"\d+\.?\d*|\.\d+", text):
        raise ValueError(f"{text!r} is no number of 0 or more, such as 0.5")
    return float(text)


def parse_limit(text: str) -> float | None:
    """Parses a limit of requests a second; a negative one is none, as in Karmada. Raises: ValueError."""
    return None if re.fullmatch(r"-\d+\.?\d*", text) else parse_rate(text)


def parse_host(text: str) -> str:
    """Parses an address of this machine without a port; brackets around it may be left out."""
    return parse_name(text).removeprefix("[").removesuffix("]")


def parse_fraction(text: str) -> float:
    """Parses a number between 0, not included, and 1. Raises: ValueError."""
    value = parse_rate(text)
    if not 0 < value <= 1:
        raise ValueError(f"{text} is not between 0 and 1")
    return value


def parse_purge_mode(text: str) -> PurgeMode:
    if text not in TAINT_PURGE_MODES:
        raise ValueError(f"{text!r} is neither {' nor '.join(TAINT_PURGE_MODES)}")
    return PurgeMode(text)


def parse_name(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def parse_address(text: str) -> Address | None:
    """`:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0`, or nothing, is nowhere, which is None."""
    if text in ("", "0"):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"{text!r} is no address: write :8080 or 127.0.0.1:8080, or 0 for none")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def parse_port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 65_535:
        raise ValueError(f"{text!r} is no port between 1 and 65535")
    return int(text)


def parse_serving_address(text: str) -> Address:
    """A port of every address of this machine, or one address with its port."""
    address = Address("", parse_port(text)) if text.isdecimal() else parse_address(text)
    if address is None:
        raise ValueError(f"{text!r} is no address: write 10352 or 127.0.0.1:10352")
    return address


def parse_file(text: str) -> Path:
    """Parses a path; the file is not looked into here."""
    return Path(parse_name(text))


def parse_controllers(text: str) -> tuple[str, ...]:
    return parse_choice(_items(text))


def parse_feature_gates(text: str) -> FeatureGates:
    """`Failover=true,GracefulEviction=false`"""
    pairs = [item.partition("=") for item in _items(text)]
    missing = [name for name, equals, _ in pairs if not equals]
    if missing:
        raise ValueError(f"{missing[0]!r} has no value: write {missing[0]}=true or {missing[0]}=false")
    return switch_gates((name, parse_boolean(value)) for name, _, value in pairs)


def parse_patterns(text: str) -> tuple[str, ...]:
    """Regular expressions with commas between."""
    patterns = _items(text)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return patterns


def _items(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (item.strip() for item in text.split(","))))
