"""Rules that compare each member of a list or a map with a regular expression, and no text more often than that.

    object.spec.containers.all(c, c.image.matches('^registry'))     all comparisons together read the members once
    self.names.all(n, self.text.matches('^a'))                      each of them reads the whole text

Read off the text of a rule. Whatever cannot be read for certain is taken for the second: it costs more.
"""

import re

LITERAL = re.compile(r"""r?("([^"\\\n]|\\.)*"|'([^'\\\n]|\\.)*')""")
_UNCERTAIN = re.compile(r"""\\['"]|'''|\"""|`""")
"""Quotes within literals, and literals of several lines; looked for before the literals are taken out."""
_PATH = r"[A-Za-z_]\w*(?:\.orValue\((?:\[\]|\{\})\)|\.\??\w+|\[\??[^\[\](){}]*\])*"
_STARTS = r"(?<![\w.)\]}?'])"
_MACRO = re.compile(
    rf"{_STARTS}(?P<members>{_PATH}|\({_PATH}(?:\+{_PATH})*\))"
    r"\.(?:all|exists|exists_one|existsOne|filter|map|transformList|transformMap|transformMapEntry)"
    r"\((?P<names>\w+(?:,\w+(?=,))?),"
)
_BINDING = re.compile(r"\((\w+),(?:(\w+),)?")
_ROOT = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_COMPARED = re.compile(rf"{_STARTS}(?P<root>[A-Za-z_]\w*)(?:\.\w+|\[(?:''|\d+)\])*\.(?:matches|find|findAll)\(''")
_COMPARING = re.compile(r"\b(?:matches|find|findAll)\(")


def each_matched(text: str) -> int:
    """Greatest number of lists or maps that are put together of whose members each is compared, once in a
    comprehension, with each expression that is a literal; 0 where anything else is compared in one, or that cannot be
    told.

    The names of comprehensions over paths of the values stand for members of theirs, as long as nothing else takes such
    a name, nor gives one to what it has made.
    """
    asked = _without_literals(text)
    if not asked:
        return 0
    macros, bindings = list(_MACRO.finditer(asked)), list(_BINDING.finditer(asked))
    places = {macro.start("names") - 1 for macro in macros}
    made = {name for found in bindings if found.start() not in places for name in found.groups()}
    compared = list(_COMPARED.finditer(asked))
    if len(compared) != len(_COMPARING.findall(asked)):
        return 0
    if made & {root for macro in macros for root in _ROOT.findall(macro["members"])}:
        return 0
    scopes = [(macro.end(), _end(asked, macro.end()), macro["names"].split(",")) for macro in macros]
    loops = [(found.end(), _end(asked, found.end())) for found in bindings]
    for each in compared:
        root, place = each["root"], each.start()
        once = not any(start <= place < end for start, end in loops)
        if root in made or not (once or any(start <= place < end and root in names for start, end, names in scopes)):
            return 0
    return 1 + max((macro["members"].count("+") for macro in macros), default=0)


def _without_literals(text: str) -> str:
    """The rule with nothing in its literals, and no spaces; empty where they cannot be told from the rest."""
    if _UNCERTAIN.search(text):
        return ""
    asked = re.sub(r"\s+", " ", LITERAL.sub("''", text))
    asked = re.sub(r" ?([^\w ]) ?", r"\1", asked)
    return "" if "//" in asked or re.search(r"['\"]", asked.replace("''", "")) else asked


def _end(text: str, start: int) -> int:
    """Index at which the bracket ends within which `start` is."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place
    return start
