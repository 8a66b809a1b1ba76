import pytest

from tests.docs.console import Step, blanked, shows, steps_of

PAGE = """\
# A page

```console
$ kubectl get clusters
NAME      AGE
member1   4s
$ export A=b
```

```yaml
$ this is none
```

<!-- console
$ leeward member stop member1
...
-->
"""


def test_a_page_gives_its_commands_with_what_they_show() -> None:
    assert list(steps_of(PAGE)) == [
        Step("kubectl get clusters", ("NAME      AGE", "member1   4s")),
        Step("export A=b", ()),
        Step("leeward member stop member1", ("...",)),
    ]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("member1   v1.36.0   Push   True   4m12s", "member1 v1.36.0 Push True T"),
        ("  12:13:21   +7 s  x  not-ready:NoExecute", "T T x not-ready:NoExecute"),
        ("fleet in /home/me/.leeward, as of 12:13:53 UTC, 23 Nov 2026", "fleet in ~/.leeward, as of T UTC, T"),
        ("the brake is engaged (since 2026-11-23T16:00:07Z): 3 of 3", "the brake is engaged (since TTTZ): 3 of 3"),
        ("nginx   3/3     3            3           40s", "nginx 3/3 3 3 T"),
        ("beat   1d79bdde-d4a0-4a2e-96b1-40e65c20cba7   18s", "beat N T"),
        ("adopted https://127.0.0.1:34351: now", "adopted https://127.0.0.1:N: now"),
    ],
)
def test_only_times_and_widths_are_blanked(line: str, left: str) -> None:
    assert blanked(line, "/home/me") == left


@pytest.mark.parametrize(
    ("shown", "seen", "same"),
    [
        ([], [], True),
        (["a"], ["a"], True),
        (["a"], ["a", "b"], False),
        (["..."], [], True),
        (["...", "b"], ["a", "b"], True),
        (["a", "...", "c"], ["a", "b", "b", "c"], True),
        (["a", "...", "c"], ["a", "c", "d"], False),
        (["a", "...", "c", "..."], ["a", "b"], False),
    ],
)
def test_dots_stand_for_any_lines(shown: list[str], seen: list[str], same: bool) -> None:
    assert shows(shown, seen) is same
