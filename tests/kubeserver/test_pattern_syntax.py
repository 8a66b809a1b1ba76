"""Patterns of definitions mean what they mean in Go."""

import pytest

from kubeapi.meta import Manifest
from kubeserver.apiextensions.patterns import compile_pattern
from tests.kubeserver.api_world import DEFINITIONS, WIDGETS, ApiWorld, tell, widget, widgets


@pytest.mark.parametrize(
    ("pattern", "fits", "others"),
    [
        (r"^{{.*}}$", "{{a}}", "{a}"),
        (r"^\${.+}$", "${a}", "$a"),
        (r"^a{,3}$", "a{,3}", "aa"),
        (r"^a{1$", "a{1", "a"),
        (r"^a{2}b{1,}c{0,2}$", "aabb", "abb"),
        (r"^[[:alpha:]]+$", "ab", "a:"),
        (r"^[[:alnum:]_-]+$", "a-1_", "a.1"),
        (r"^[^[:space:]]+$", "ab", "a b"),
        (r"^[[:^digit:]]+$", "aé", "a1"),
        (r"^[[:^alpha:][:upper:]]+$", "1A", "a"),
        (r"^[[:punct:]]+$", "[]`~", "a"),
        (r"^\Qa.b\E+$", "a.bb", "axb"),
        (r"^\101\x{42}\0$", "AB\0", "A"),
        (r"^\<a\>$", "<a>", "a"),
        (r"^[\<\>]$", "<", "\\"),
        (r"^\s[\s]$", "\t ", "\xa0\xa0"),
        (r"^\S[^\s]$", "\xa0\xa0", "a "),
        (r"^[\d-z]+$", "1-z", "a"),
        (r"^[a-z&&b]+$", "a&b", "&&A"),
        (r"^[]a]+$", "]a", "["),
        (r"^[^]a]+$", "[b", "]"),
        (r"^[[]+$", "[[", "]"),
        (r"^\a[\a]$", "\x07\x07", "aa"),
        (r"^\d\w\p{Greek}\pL$", "1_αé", "١_αé"),
        (r"^(?P<n>a)(?i:B)$", "ab", "AB"),
        (r"^a$", "a", "a\n"),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, fits: str, others: str) -> None:
    matches = compile_pattern(pattern)
    assert (matches(fits), matches(others)) == (True, False)


@pytest.mark.parametrize("pattern", ["(?=a)", "(a", "[a", "a)", "\\", "[z-a]", "a\\"])
def test_what_is_no_pattern_is_still_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="regular expression"):
        compile_pattern(pattern)


def test_a_definition_with_such_a_pattern_is_taken_and_held_to() -> None:
    async def story(world: ApiWorld) -> None:
        definition: Manifest = widgets()
        for version in definition["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            spec["properties"]["template"] = {"type": "string", "pattern": r"^{{[[:alpha:]]+}}$"}
        assert (await world.create(DEFINITIONS, definition)).code == 201
        assert (await world.create(WIDGETS, widget("a", size=1, template="{{name}}"))).code == 201
        refused = await world.create(WIDGETS, widget("b", size=1, template="{{1}}"))
        assert (refused.code, "should match '^{{[[:alpha:]]+}}$'" in refused.body["message"]) == (422, True)

    tell(story)
