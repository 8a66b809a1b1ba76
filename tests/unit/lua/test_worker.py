"""The loop of the process that runs scripts: one line in, one line out."""

from io import BytesIO
from typing import Any

from kubeapi.codec import decode_any, encode
from leeward.lua.sandbox import Sandbox
from leeward.lua.worker import serve

COUNT = """
function Count(o)
  local names = {}
  for name, value in pairs(o) do names[#names + 1] = name end
  return #o.items, names
end
"""


def answers(*calls: list[Any]) -> list[Any]:
    given, told = BytesIO(b"".join(encode(call) + b"\n" for call in calls)), BytesIO()
    serve(Sandbox(), given, told)
    return [decode_any(line) for line in told.getvalue().splitlines()]


def test_what_is_null_is_absent_for_a_script() -> None:
    nulls = {"a": None, "b": {"c": None}, "items": [1, None, 2]}
    text = {"a": "null", "items": ["null"]}
    assert answers([COUNT, "Count", [nulls], 0], [COUNT, "Count", [text], 0]) == [
        [True, [2, ["b", "items"]]],
        [True, [1, ["a", "items"]]],
    ]


def test_an_error_is_told_and_the_next_call_is_answered() -> None:
    failed, fine = answers([COUNT, "Count", [{}], 0], [COUNT, "Count", [{"items": []}], 0])
    assert failed[0] is False
    assert fine == [True, [0, ["items"]]]
