"""Templates of arcs: the template language with a role before each column.

A term names the token it looks at by its role, the rest is as for sequences::

    head.form                     the head of the arc
    dep.upos[-1]                  the token before the dependent
    head.upos|between.upos|dep.upos   each different tag between the two, once
    head.upos|count.upos|dep.upos     the same, as often as the tag occurs there
    lower(head.form)|dep.upos     functions nest as usual
    head.upos|dep.upos|sib.upos   the next sibling towards the head (second order)
    grand.upos|head.upos|dep.upos the head of the head (second order)
    bias                          1 on every arc

The root has the value ``<root>`` in every column; a term outside the sentence has
``<s>``. Each feature stands for fifteen: itself, and itself together with direction
and distance (see `variant` in `partwise.features._arc_compiled`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.features.templates import (
    Template,
    TemplateError,
    Term,
    View,
    parse_templates,
)
from partwise.parameters import look_up
from partwise.readers.table import Column, Table

ROLES = ("head", "dep", "between", "count", "sib", "grand")
ROOT = "<root>"
ENDS = ("head", "dep")


@dataclass(frozen=True)
class ArcTemplate:
    """A conjunction of terms, by the role of the token they look at."""

    text: str
    parts: tuple[tuple[str, tuple[Term, ...]], ...]  # (role, terms) in order of ROLES
    written: tuple[tuple[str, int], ...] = ()  # role, place in its part of each term
    is_counted: bool = False  # `count` is the role `between` with another value

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that occur."""
        return tuple(role for role, _ in self.parts)

    @property
    def family(self) -> str:
        """Which tokens an arc feature needs: what a kernel loops over."""
        for role in ("grand", "sib", "between"):
            if role in self.roles:
                return role
        if self.roles == ("head",):
            return "head"
        return "pair" if len(self.roles) == 2 else "dep"  # bias is of the dependent

    def __str__(self) -> str:
        return self.text


def parse_arc_templates(templates: str | Iterable[str]) -> list[ArcTemplate]:
    r"""Read templates of arcs, ranges expanded and repetitions left out.

    Parameters
    ----------
    templates : str or iterable of str
        One template per line, or per item.

    Returns
    -------
    list of ArcTemplate

    Examples
    --------
    >>> [t.family for t in parse_arc_templates("head.form|dep.upos[-1..0]\nbias")]
    ['pair', 'pair', 'dep']
    """
    return [_by_role(template) for template in parse_templates(templates)]


def _by_role(template: Template) -> ArcTemplate:
    parts: dict[str, list[Term]] = {}
    written = []
    for term in template.terms:
        role, view = _split(term.view, template)
        written.append((role, len(parts.setdefault(role, []))))
        parts[role].append(Term(view, term.offset))
    if len([role for role in parts if role not in ENDS]) > 1:
        raise TemplateError(
            f"template {template}: one of between, count, sib and grand is allowed; "
            "split it"
        )
    is_counted = "count" in parts
    if is_counted:
        parts["between"] = parts.pop("count")
        written = [("between" if r == "count" else r, place) for r, place in written]
    ordered = tuple((role, tuple(parts[role])) for role in ROLES if role in parts)
    return ArcTemplate(str(template), ordered, tuple(written), is_counted)


def _split(view: View, template: Template) -> tuple[str, View]:
    if view.inner is not None:
        role, inner = _split(view.inner, template)
        return role, View(view.name, inner, view.argument)
    role, _, column = view.name.partition(".")
    if role not in ROLES or not column:
        raise TemplateError(
            f"template {template}: {view.name!r} needs a role before the column, such "
            f"as head.{view.name}; roles are {', '.join(ROLES)}, and presets "
            f"{', '.join(ARC_PRESETS)}"
        )
    return role, View(column)


def backoffs(word: str, tag: str) -> str:
    """Pairs of McDonald, Crammer and Pereira (2005) and each end alone."""
    h, H, d, D = f"head.{word}", f"head.{tag}", f"dep.{word}", f"dep.{tag}"
    rows = [
        (h, H, d, D), (H, d, D), (h, d, D), (h, H, D), (h, H, d), (h, d), (H, D),
        (h, D), (H, d), (h,), (H,), (h, H), (d,), (D,), (d, D),
    ]  # fmt: skip
    return _lines(rows)


def surroundings(tag: str) -> str:
    """Tags of both ends with those beside them."""
    h, d = f"head.{tag}", f"dep.{tag}"
    rows = [
        (h, f"{h}[1]", f"{d}[-1]", d), (f"{h}[-1]", h, f"{d}[-1]", d),
        (h, f"{h}[1]", d, f"{d}[1]"), (f"{h}[-1]", h, d, f"{d}[1]"),
        (h, f"{h}[1]", d), (f"{h}[-1]", h, d), (h, f"{d}[-1]", d), (h, d, f"{d}[1]"),
    ]  # fmt: skip
    return _lines(rows)


def _lines(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join("|".join(row) for row in rows) + "\n"


ARC_PRESETS: dict[str, str] = {
    "mcdonald": backoffs("form", "upos")
    + backoffs("lemma", "upos")
    + surroundings("upos")
    + "head.upos|between.upos|dep.upos\nbias\n",
}
# the same as the thesis behind the kernel method has it: how often a tag lies between
ARC_PRESETS["mcdonald_counts"] = ARC_PRESETS["mcdonald"].replace("between.", "count.")


def contexts(word: str, tag: str) -> str:
    """Tags of both ends with more around them, and words beside them."""
    h, d = f"head.{tag}", f"dep.{tag}"
    rows = [
        (h, f"{d}[-1]", d, f"{d}[1]"), (f"{h}[-1]", h, f"{h}[1]", d),
        (h, f"{d}[-2]", f"{d}[-1]", d), (f"head.{word}", f"dep.{word}[-1]"),
        (h, d, f"dep.{word}[-1]"), (h, d, f"dep.{word}[1]"),
        (h, d, f"head.{word}[1]"), (h, d, f"head.{word}[-1]"),
    ]  # fmt: skip
    return _lines(rows)


def _tags(names: Sequence[str]) -> list[str]:
    """Columns of tags; where a treebank has no finer tags, features stand for them."""
    tags = [name for name in ("upos", "xpos", "pos") if name in names]
    return [*tags, "feats"] if tags == ["upos"] and "feats" in names else tags


def default_arc_templates(columns: Iterable[str], *, counts: bool = True) -> str:
    """Templates for sentences with these columns.

    Those of the preset ``mcdonald`` with more around both ends; lemmas go with
    universal tags and forms with language-specific ones, or with the column feats,
    where both are there.

    Parameters
    ----------
    columns : iterable of str
    counts : bool
        Tell of the tags between head and dependent not only that they occur but also
        how often. On development data this helps parsers of first order, and not those
        of second order (docs/parsing.md).

    Returns
    -------
    str
    """
    names = list(columns)
    words = [name for name in ("lemma", "form", "word") if name in names]
    tags = _tags(names)
    text = "bias\n"
    if not tags or not words:
        for name in words or tags or names:
            h, d = f"head.{name}", f"dep.{name}"
            text += _lines([(h,), (d,), (h, d), (h, f"{h}[1]", d), (h, f"{d}[-1]", d)])
        return text
    pairs = {(words[0], tags[0]), (words[-1], tags[-1]), (words[-1], tags[0])}
    if len(words) > 1 and len(tags) > 1:
        pairs = {(words[0], tags[0]), (words[-1], tags[-1])}
    for word, tag in sorted(pairs):
        text += backoffs(word, tag)
    for tag in tags:
        text += surroundings(tag) + f"head.{tag}|between.{tag}|dep.{tag}\n"
        if counts:
            text += f"head.{tag}|count.{tag}|dep.{tag}\n"
    return text + contexts(words[0], tags[0])


def default_pruner_templates(columns: Iterable[str]) -> str:
    """A few cheap templates, to choose the candidate heads of each word."""
    names = list(columns)
    words = [name for name in ("lemma", "form", "word") if name in names]
    tags = _tags(names)
    if not tags or not words:
        return default_arc_templates(names)
    word, tag = words[0], tags[0]
    rows: list[tuple[str, ...]]
    rows = [(f"{end}.{name}",) for name in (word, *tags) for end in ENDS]
    rows += [(f"head.{name}", f"dep.{name}") for name in tags]
    rows += [(f"head.{word}", f"dep.{tag}"), (f"head.{tag}", f"dep.{word}"), ("bias",)]
    rows += [(f"head.{tag}", f"between.{tag}", f"dep.{tag}")]
    return _lines(rows) + surroundings(tag)


def second_order_templates(columns: Iterable[str]) -> str:
    """Siblings and grandparents: all three tags, pairs of them, and words."""
    names = list(columns)
    words = [name for name in ("lemma", "form", "word") if name in names]
    tags = _tags(names) or words or names
    rows: list[tuple[str, ...]] = []
    for a, b, c in (("head", "sib", "dep"), ("grand", "head", "dep")):
        far = "sib" if a == "head" else "grand"
        for tag in tags:
            rows += [(f"{a}.{tag}", f"{b}.{tag}", f"{c}.{tag}")]
        tag = tags[0]
        rows += [(f"{far}.{tag}", f"dep.{tag}")]
        for word in words[:1]:
            for role in (a, b, c):
                rest = [f"{r}.{tag}" for r in (a, b, c) if r != role]
                rows += [(f"{role}.{word}", *rest)]
            rows += [(f"{far}.{word}", f"dep.{word}")]
            rows += [(f"{far}.{word}", f"dep.{tag}"), (f"{far}.{tag}", f"dep.{word}")]
    return _lines(rows)


def default_label_templates(
    columns: Iterable[str], attributes: Iterable[str] = ()
) -> str:
    """Templates of labels for sentences with these columns.

    Parameters
    ----------
    columns : iterable of str
    attributes : iterable of str
        Attributes in the column feats, each of which has templates of its own.
    """
    names = list(columns)
    tags = [name for name in ("upos", "xpos", "pos") if name in names]
    words = [name for name in ("form", "lemma", "word") if name in names]
    others = [name for name in names if name == "feats"]
    rows: list[tuple[str, ...]]
    rows = [(f"{end}.{name}",) for name in [*words, *tags, *others] for end in ENDS]
    for tag in tags[:1]:
        h, d = f"head.{tag}", f"dep.{tag}"
        rows += [(h, d), (f"{d}[-1]", d), (d, f"{d}[1]"), (h, f"{d}[-1]", d)]
        rows += [(h, d, f"{d}[1]"), (h, f"{h}[1]", d), (f"{h}[-1]", h, d)]
        for word in words[-1:]:
            rows += [(f"head.{word}", d), (h, f"dep.{word}")]
            rows += [(f"head.{word}", f"dep.{word}")]
            rows += [(f"dep.{word}[-1]",), (f"dep.{word}[1]",)]
    rows += [(f"head.{tag}", f"dep.{tag}") for tag in tags[1:]]
    for name in attributes if tags else ():
        h, d = (f'attribute({end}.feats, "{name}")' for end in ENDS)
        rows += [(d, f"dep.{tags[0]}", f"head.{tags[0]}"), (d, h, f"dep.{tags[0]}")]
    return _lines([*rows, ("bias",)])


def telling_columns(table: Table) -> list[str]:
    """Columns with more than one value, or all where there is none."""
    telling = [name for name, column in table.columns.items() if len(column.used()) > 1]
    return telling or list(table.columns)


def frequent_attributes(column: Column, most: int = 6) -> list[str]:
    """Attributes that most words have, as Case in ``Case=Nom|Number=Sing``.

    Examples
    --------
    >>> table = Table.from_sequences([["Case=Nom|Number=Sing", "Case=Acc", "_"]], ["f"])
    >>> frequent_attributes(table.columns["f"])
    ['Case', 'Number']
    """
    counts: Counter[str] = Counter()
    number = np.bincount(column.codes, minlength=len(column.values))
    for value, n in zip(column.values, number.tolist(), strict=True):
        parts = [part.partition("=") for part in value.split("|")]
        counts.update({name: n for name, is_pair, _ in parts if is_pair})
    return [name for name, n in counts.most_common(most) if n]


def with_presets(
    templates: str | Iterable[Any], default: str, presets: Mapping[str, str]
) -> list[str]:
    r"""Templates in which ``default`` or a preset's name stands for its templates.

    Examples
    --------
    >>> with_presets("default\nhead.feats", "bias\nhead.form", {})
    ['bias', 'head.form', 'head.feats']
    """
    known = {**presets, "default": default}
    lines = templates.splitlines() if isinstance(templates, str) else templates
    texts = [known.get(str(line).strip(), str(line)) for line in lines]
    return [line for text in texts for line in text.splitlines()]


def chosen_arc_templates(templates: Any, table: Table, order: int) -> list[str]:
    """Templates of arcs: as given, or the default of the columns of a table.

    The names of presets, and ``default``, stand for their templates.
    """
    names = telling_columns(table)
    default = default_arc_templates(names, counts=order == 1)
    if order == 2:
        default += second_order_templates(names)
    given = look_up("templates", templates, {**ARC_PRESETS, "default": default})
    return with_presets(default if given is None else given, default, ARC_PRESETS)


def chosen_label_templates(templates: Any, table: Table) -> list[str]:
    """Templates of labels: as given, or the default of the columns of a table."""
    names = telling_columns(table)
    attributes = frequent_attributes(table.columns["feats"]) if "feats" in names else ()
    default = default_label_templates(names, attributes)
    return with_presets(default if templates is None else templates, default, {})


def check_arc_templates(templates: str) -> None:
    """Refuse templates with a fault, whatever the columns are, by its line."""
    names = {*ARC_PRESETS, "default"}
    lines = templates.splitlines()
    parse_arc_templates(
        "\n".join("bias" if line.strip() in names else line for line in lines)
    )
