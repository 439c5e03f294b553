"""Docstrings of estimators that list all parameters, each described once."""

from __future__ import annotations

import re
from inspect import cleandoc
from textwrap import fill, indent
from typing import NamedTuple

HEAD = "{}\n----------\n"
SECTIONS = ("Parameters", "Attributes")
REFERENCE = re.compile(r"See `\w+`[.;]?\s*")


def complete(cls: type) -> None:
    """
    Put the entries of the bases into two sections: ``Parameters`` and ``Attributes``.

    An entry without a type is a list of names that refers to a base: ``See `Base`.``
    It becomes the entries of the base; further words of it go to the first parameter
    that they name. What no entry names follows at the end.

    Parameters
    ----------
    cls : class
        Its docstring is rewritten; without one (``python -OO``) nothing is done.
    """
    text: str = cls.__dict__.get("__doc__") or ""
    for title in SECTIONS if text else ():
        inherited: dict[str, str] = {}
        for base in reversed(cls.__mro__[1:]):
            if base.__module__.startswith("partwise."):
                for names, kind, body in entries_of(base.__doc__ or "", title):
                    if kind:
                        inherited |= {n: str(Entry([n], kind, body)) for n in names}
        text = _with_inherited(cleandoc(text), HEAD.format(title), inherited)
        cls.__doc__ = text


def _with_inherited(text: str, head: str, inherited: dict[str, str]) -> str:
    """A docstring with the entries of the bases in one section, where it has that."""
    if not inherited or head not in text:
        return text
    before, _, rest = text.partition(head)
    section, after = _section(rest)
    entries: dict[str, str] = {}
    for entry in _entries(section):
        names, kind, body = entry
        if kind:
            entries[", ".join(names)] = str(entry)
            continue
        note = REFERENCE.sub("", " ".join(body.split()), count=1)
        named = [n for n in names if re.search(rf"\b{n}\b", note)] or names[:1]
        for name in names:
            if name in inherited:
                entries[name] = inherited[name]
                if note and name == named[0]:
                    entries[name] += "\n" + indent(fill(_sentence(note), 80), "    ")
    known = {name for names in entries for name in names.split(", ")}
    entries |= {n: entry for n, entry in inherited.items() if n not in known}
    return before + head + "\n".join(entries.values()) + after


def _sentence(note: str) -> str:
    starts_with_a_word = note[0].isalpha()
    return note[0].upper() + note[1:] if starts_with_a_word else note


def _section(rest: str) -> tuple[str, str]:
    """The section, and what follows it."""
    end = re.search(r"\n\n[A-Z][\w ]*\n-+\n", rest)
    if end is None:
        return rest.rstrip(), "\n"
    return rest[: end.start()], rest[end.start() :]


class Entry(NamedTuple):
    """Parameters that a docstring describes together."""

    names: list[str]
    kind: str  # their type; empty for names that refer to another docstring
    body: str

    def __str__(self) -> str:
        return f"{', '.join(self.names)} : {self.kind}\n{self.body}".rstrip()


def entries_of(docstring: str, title: str = "Parameters") -> list[Entry]:
    """The entries of a section of a docstring."""
    _, head, rest = cleandoc(docstring).partition(HEAD.format(title))
    return _entries(_section(rest)[0]) if head else []


def _entries(section: str) -> list[Entry]:
    entries = []
    for entry in re.split(r"\n(?=\S)", section):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        entries.append(Entry(names.split(", "), kind, body))
    return entries
