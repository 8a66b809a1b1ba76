"""Attributes that are found when they are first asked for."""

from leeward.core.scheduling.cached_property import CachedProperty


def test_an_attribute_is_found_once_for_each_owner_and_tells_what_it_is() -> None:
    asked: list[object] = []

    class Owner:
        @CachedProperty
        def answer(self) -> int:
            """Number that the question is about."""
            asked.append(self)
            return len(asked)

    one, other = Owner(), Owner()
    assert [one.answer, other.answer, one.answer, other.answer] == [1, 2, 1, 2]
    assert asked == [one, other]
    assert one.__dict__ == {"answer": 1}
    assert vars(Owner)["answer"].__doc__ == "Number that the question is about."
