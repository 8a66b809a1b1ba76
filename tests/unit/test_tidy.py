"""Rules of the source tree that no linter knows: what breaks one today is listed, and the lists only get shorter."""

import re
import tomllib
from pathlib import Path

import pytest

from tests import invariants, tidiness
from tests.json_comparisons import loose_comparisons
from tests.walked_twice import walked_twice

MOST_LINES_OF_A_FUNCTION, MOST_LINES_OF_A_FILE = 40, 330
NO_BEGINNINGS = (
    "Whether",
    "What",
    "How",
    "Who",
    "Whom",
    "Whose",
    "Where",
    "When",
    "Why",
    "Which",
    "That",
    "Whoever",
    "Whatever",
    "As",
    "After",
    "Again",
    "Also",
    "At",
    "Before",
    "Behind",
    "Beside",
    "Between",
    "Beyond",
    "By",
    "For",
    "From",
    "If",
    "In",
    "It",
    "Its",
    "Never",
    "Not",
    "Of",
    "On",
    "Once",
    "Only",
    "Since",
    "So",
    "There",
    "They",
    "To",
    "Under",
    "Unless",
    "Until",
    "While",
    "With",
    "Within",
    "Without",
    "Those",
    "These",
    "Others",
    "Told",
    "Given",
    "Seen",
    "Is",
    "Are",
    "One of",
    "One that",
    "One who",
    "One for",
    "All of",
    "All that",
    "All who",
    "All but",
    "The one who",
    "The one of",
    "The ones",
    "The same of",
    "The same for",
    "The first of",
    "The first that",
    "The last of",
    "The last that",
)
"""Question words, prepositions, conjunctions, and pronouns that stand for a noun which the reader has to guess."""
ROOT = Path(__file__).parents[2]


def test_no_function_is_longer_than_a_screen() -> None:
    found = tidiness.long_functions(MOST_LINES_OF_A_FUNCTION)
    assert found == tidiness.exceptions()["long_functions"]


def test_no_file_is_longer_than_can_be_read_at_once() -> None:
    assert tidiness.long_files(MOST_LINES_OF_A_FILE) == {}


def test_the_tree_does_not_grow() -> None:
    """A bound is lowered when its figure has come down, and is never raised."""
    bounds = tidiness.exceptions()["bounds"]
    found = tidiness.figures()
    assert found.keys() == bounds.keys()
    assert {name: figure for name, figure in found.items() if figure > bounds[name]} == {}


def test_no_two_files_of_a_layer_have_the_same_name() -> None:
    assert tidiness.shared_stems() == tidiness.exceptions()["shared_stems"]


def test_no_two_public_classes_have_the_same_name() -> None:
    assert tidiness.shared_class_names() == tidiness.exceptions()["shared_class_names"]


def test_a_description_begins_with_what_the_thing_is_or_does() -> None:
    """A noun or a verb: `Tells whether`, not `Whether`; `Seconds until`, not `When`; `Works by name`, not `By name`."""
    found = tidiness.descriptions_that_begin_with(NO_BEGINNINGS, *tidiness.PYTHON)
    assert found == set(tidiness.exceptions()["descriptions"]["begin_otherwise"])


def test_no_class_of_core_changes_itself() -> None:
    """Classes that are mutable and fast are those of `planning`."""
    known = {name for names in tidiness.exceptions()["changing_classes_of_core"].values() for name in names}
    assert tidiness.changing_classes("src/leeward/core") == known


CHANGING = """
@dataclass
class Open: ...
@dataclass(slots=True)
class AlsoOpen: ...
class Wire(msgspec.Struct, rename="camel"): ...
class Cache:
    def __init__(self): self.known = {}
    def keep(self, key): self.known[key] = 1
class Counter:
    def count(self): self.number += 1
class Queue:
    def put(self, item): self.items["all"].append(item)
class Forgetful:
    def forget(self): del self.known
"""
FROZEN = """
@dataclass(frozen=True)
class Closed:
    def other(self): found = self.known[0]; found = list(found); found.append(1); return {**found, self.a: 1}
class Sent(msgspec.Struct, frozen=True): ...
class Plain:
    def __init__(self): self.known = {}
"""


def test_a_long_sentence_is_seen() -> None:
    long = " ".join(["word"] * 26)
    other = f"# {long}\n\n    {long}\n\n| {long} |\n\n```\n{long}\n```\n"
    page = f"{other}\nShort. `{long}`\n\n- Item\n- {long.capitalize()}.\n"
    assert tidiness.long_sentences(page) == [f"{long.capitalize()}."]
    assert tidiness.long_sentences(f"Short. {long.capitalize()}: {long}.") == [f"{long.capitalize()}: {long}."]


def test_a_message_names_its_subject_and_has_one_colon_a_sentence() -> None:
    """Messages of answers, of `status` and of lint, and of the brake, evictions and rollouts."""
    core = ("cluster_health", "eviction", "rollout")
    folders = ("answers", "operations", "lint", *(f"core/{name}" for name in core))
    files = tidiness.sources(*(f"src/leeward/{name}" for name in folders))
    found = [message for _, text in files for message in tidiness.unclear_messages(text)]
    assert found == [], "name the thing; make two sentences of it"


def test_an_unclear_message_is_seen() -> None:
    text = """
def said(name, why):
    \'\'\'It is a docstring: so: here.\'\'\'
    yield f"it leaves {name}"
    yield "it waits: for ever"
    yield f"{name} stays: {why}: "
    yield "One fact: one colon. Another: one more"
"""
    assert sorted(tidiness.unclear_messages(text)) == ["X stays: X: ", "it leaves X", "it waits: for ever"]


def test_a_class_that_changes_itself_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core/some.py").write_text(CHANGING + FROZEN)
    monkeypatch.setattr(tidiness, "ROOT", tmp_path)
    assert tidiness.changing_classes("core") == {"Open", "AlsoOpen", "Wire", "Cache", "Counter", "Queue", "Forgetful"}


def test_json_values_are_compared_strictly() -> None:
    """Python holds 1 and True for equal; `kubeapi/diff.py` has what compares instead."""
    files = tidiness.sources(*tidiness.SOURCE)
    compared = ((path, text) for path, text in files if path.stem != "diff" and "small" not in path.parts)
    assert loose_comparisons(compared) == [], "compare with is_equal or is_one_of of kubeapi/diff.py"


def test_a_loose_comparison_is_seen() -> None:
    text = """
class PlaintextOverrider: value: Any
class Policy: overriders: tuple[PlaintextOverrider, ...]
class Named: name: str
def section(manifest: Manifest) -> dict[str, Any]: ...
def compared(old: Manifest, new: Mapping[str, Any], name: str, one: Policy, other: Policy, named: Named):
    before, there = section(old).get("field"), list(section(old)["list"])
    for key, value in new.items():
        if value != before or value in there:
            pass
    unknown = made(new)
    fine = old["kind"] == new.get("kind") or named.name == name or before is None or name in old
    return one.overriders == other.overriders or unknown == old or [each for each in there if each == value]
"""
    found = loose_comparisons([(Path("a.py"), text)])
    assert found == [
        "a.py: value != before",
        "a.py: value in there",
        "a.py: one.overriders == other.overriders",
        "a.py: unknown == old",
        "a.py: each == value",
    ]


def test_what_can_be_walked_once_is_walked_once() -> None:
    found = walked_twice((str(path), text) for path, text in tidiness.sources(*tidiness.SOURCE))
    assert found == [], "the second walk finds nothing: ask for a Collection, or make a tuple of it"


def test_a_second_walk_is_seen() -> None:
    text = """
def made() -> Iterator[int]: ...
def asked(given: Iterable[int], other: Iterable[int]) -> bool:
    if not flag:
        return any(other)
    return sum(given) > 1 or any(each in given for each in other)
async def reconciled(self):
    there = self.informer.list("ns")
    for template in self.templates.list("ns"):
        patch(template, there)
    numbers = made()
    total = sum(numbers) + max(numbers)
    self.kept = (each for each in numbers)
    fine = tuple(made())
    either = map(str, fine)
    return sum(either) if fine else max(either)
"""
    assert walked_twice([("a.py", text)]) == [
        "a.py: asked.given",
        "a.py: there",
        "a.py: numbers",
        "a.py: self.kept",
    ]


def test_every_flag_and_every_field_has_a_reader_and_no_code_is_dead() -> None:
    known = {name for names in tidiness.exceptions()["unread"].values() for name in names}
    assert tidiness.unread_names() == known


def test_what_is_cited_is_in_the_repository() -> None:
    assert tidiness.missing_pages() == set()


def test_the_code_map_has_the_packages_in_the_order_of_their_contract() -> None:
    layers = tidiness.layers("leeward")
    packages = [name for row in tidiness.rows("ARCHITECTURE.md", "## Code map") for name in row]
    assert set(packages) == set().union(
        *layers, {"simulator", "kubeserver", "kubecluster", "controller_runtime", "kubeclient", "kubeapi"}
    )
    ranks = [rank for name in packages for rank, layer in enumerate(layers) if name in layer]
    assert ranks == sorted(ranks)


def test_the_table_of_the_layers_of_kubeserver_is_that_of_its_contract() -> None:
    assert [{"__main__"}, *tidiness.rows("kubeserver/README.md", "## Layers")] == tidiness.layers("kubeserver")


def test_each_foreign_library_has_a_contract() -> None:
    """msgspec is the language in which all modules describe their data."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = [contract for contract in project["contracts"] if contract["type"] == "protected"]
    protected = {module for contract in contracts for module in contract["protected_modules"]}
    ours = {path.name for folder in tidiness.SOURCE for path in (ROOT / folder).iterdir()}
    assert tidiness.imported_libraries() - ours - protected == {"msgspec"}


def test_distributions_of_their_own_are_tested_without_leeward() -> None:
    assert tidiness.importers("leeward", "tests/kubeserver", "tests/kubeapi", "tests/kubecluster") == set()


@pytest.mark.parametrize("invariant", invariants.ids())
def test_an_invariant_is_held_by_code_judged_by_a_checker_and_named_by_a_test(invariant: str) -> None:
    assert invariants.holders()[invariant] or invariant in invariants.HELD_BY_THE_WHOLE
    assert invariants.checkers()[invariant] or invariant in invariants.OUT_OF_SIGHT
    assert invariants.tests()[invariant]


def test_no_code_speaks_of_an_invariant_that_there_is_not() -> None:
    spoken = {*invariants.holders(), *invariants.checkers(), *invariants.tests()}
    assert spoken - set(invariants.ids()) == set()


def test_each_measure_sees_what_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "src/package/layer"
    (package / "below").mkdir(parents=True)
    for empty in ("kubeserver/src", "kubecluster/src", "bench"):
        (tmp_path / empty).mkdir(parents=True)
    (tmp_path / "docs/decisions").mkdir(parents=True)
    for name in ("Makefile", ".ci/run"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    long = "def long():\n" + "    pass\n" * 41
    attribute = '_AMONG = 1\n"""Among names."""\n'
    text = f'"""As docs/gone.md and decision 7 say, and {"HOUSE"}."""\n\n\nclass Twice: ...\n\n\n{long}{attribute}'
    for path in (package / "same.py", package / "below/same.py"):
        path.write_text(text)
    (tmp_path / "README.md").write_text("See `layer/same.py`, `same.py` and `below/other.py`.")
    monkeypatch.setattr(tidiness, "ROOT", tmp_path)
    assert tidiness.long_functions(MOST_LINES_OF_A_FUNCTION) == {"same.long": 42}
    assert set(tidiness.long_files(40)) == {"src/package/layer/same.py", "src/package/layer/below/same.py"}
    assert tidiness.shared_stems() == {"same": 2}
    assert tidiness.shared_class_names() == {"Twice": 2}
    assert tidiness.unread_names() == {"long", "Twice"}
    assert tidiness.descriptions_that_begin_with(["As", "Among"], "src") == {
        f"src/package/layer/{name}.py: {said}"
        for name in ("same", "below/same")
        for said in ("As docs/gone.md and decision 7", "Among names.")
    }
    missing = {told.partition(": ")[2] for told in tidiness.missing_pages()}
    assert missing == {"docs/gone.md", "decision 7", "HOUSE", "below/other.py"}
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/shared.py").write_text("from package.layer import same\n")
    (tmp_path / "bench/measure.py").write_text("from tests import shared\n")
    assert tidiness.importers("package", "bench") == {"tests/shared.py"}


def test_at_most_25_decisions_have_a_page_each_in_the_index_with_its_status_alternatives_and_consequence() -> None:
    folder = tidiness.ROOT / "docs/decisions"
    pages = {page.name: page.read_text() for page in folder.glob("0*.md")}
    assert len(pages) <= 25
    listed = re.findall(r"^\d+\. \[.+\]\((.+)\)$", (folder / "index.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(pages)
    for name, text in pages.items():
        for part in ("Status", "Alternatives", "Consequence"):
            assert f"**{part}.** " in text, f"{name}: {part}"
