"""Protobuf's encoding: numbered values, read and written, and what a value means once its type is known."""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
MAX_EMPTY_DEPTH = 16
_MASK_64 = (1 << 64) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Raw = int | bytes


def fields(data: bytes) -> Iterator[tuple[int, Raw]]:
    """The numbered values of a message. Raises: ValueError when it is cut or garbled."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        size, position = _size(data, position, number, wire_type)
        if position + size > len(data):
            raise ValueError(f"field {number} is cut off")
        yield number, data[position : position + size]
        position += size


def message_of(raw: Raw) -> bytes:
    """Raises: ValueError."""
    if isinstance(raw, int):
        raise ValueError("a number stands where a message is expected")
    return raw


def text_of(raw: Raw) -> str:
    """Raises: ValueError."""
    return message_of(raw).decode()


def integer_of(raw: Raw) -> int:
    number = raw if isinstance(raw, int) else int.from_bytes(raw, "little")
    return number - (1 << 64) if number >= 1 << 63 else number


def instant_of(raw: Raw) -> datetime | None:
    """Seconds and nanoseconds since 1970; None for the message that is empty. Raises: ValueError."""
    parts = dict(fields(message_of(raw)))
    if not parts:
        return None
    try:
        return _EPOCH + timedelta(seconds=integer_of(parts.get(1, 0)), microseconds=integer_of(parts.get(2, 0)) // 1000)
    except OverflowError as error:
        raise ValueError("an instant is outside of the years 1 to 9999") from error


def is_empty(raw: Raw, depth: int = MAX_EMPTY_DEPTH) -> bool:
    """Tells whether it says nothing: Go writes the empty values of structs that were not set."""
    if isinstance(raw, int):
        return not raw
    try:
        return depth > 0 and all(is_empty(inner, depth - 1) for _, inner in fields(raw))
    except ValueError:
        return False


def bytes_field(number: int, content: bytes) -> bytes:
    """A field as it is written: a message, or bytes."""
    return _written(number << 3 | BYTES) + _written(len(content)) + content


def text_field(number: int, text: str) -> bytes:
    return bytes_field(number, text.encode())


def integer_field(number: int, value: int) -> bytes:
    """Writes an integer, or a boolean."""
    return _written(number << 3 | VARINT) + _written(int(value) & _MASK_64)


def double_field(number: int, value: float) -> bytes:
    return _written(number << 3 | FIXED_64) + struct.pack("<d", value)


def _written(value: int) -> bytes:
    """Seven bits in each byte, the lowest first."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def _size(data: bytes, position: int, number: int, wire_type: int) -> tuple[int, int]:
    if wire_type == BYTES:
        return _varint(data, position)
    if wire_type not in (FIXED_64, FIXED_32):
        raise ValueError(f"field {number} has the unknown wire type {wire_type}")
    return (8 if wire_type == FIXED_64 else 4), position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
