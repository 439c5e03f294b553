"""Templates of CRF++ in our template language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from partwise.features.templates import TemplateError, parse_templates
from partwise.readers.table import default_names

_MACRO = re.compile(r"%x\[\s*([+-]?\d{1,4})\s*,\s*(\d{1,4})\s*\]")


class Converted(NamedTuple):
    """The content of a template file of CRF++."""

    templates: str  # one per line, for ``templates=`` or ``--template``
    order: int  # 1 where it has the line B, else 0


def convert_crfpp(text: str, columns: Sequence[str] | None = None) -> Converted:
    r"""Translate a template file of CRF++.

    ``U02:%x[0,0]`` becomes ``word[0]``, ``U05:%x[-1,0]/%x[0,1]`` a conjunction,
    ``word[-1]|pos[0]``, a ``U`` without macros ``bias``; ``B`` means transitions,
    ``order=1``. Two differences remain: outside of the sentence our columns have one
    value, where CRF++ counts how far outside a place is; and a template that stands
    twice counts once.

    Parameters
    ----------
    text : str
        Content of the file.
    columns : sequence of str, optional
        Names of the columns, by default word, pos, c2, ….

    Raises
    ------
    TemplateError
        Names the line and the remedy. Features of pairs of labels, ``B01:%x[0,0]``,
        have no equal here.

    Examples
    --------
    >>> text = "# Unigram\nU00:%x[-1,0]\nU01:%x[0,0]/%x[0,1]\n\nB\n"
    >>> convert_crfpp(text)
    Converted(templates='word[-1]\nword[0]|pos[0]\n', order=1)
    """
    lines, order = [], 0
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        where = f"template line {number} ({line})"
        if not line or line.startswith("#"):
            continue
        macros = _MACRO.findall(line)
        if line[0] not in "UB":
            raise TemplateError(
                f"{where}: begins neither with U nor with B; is this a template file "
                "of CRF++?"
            )
        if "%" in _MACRO.sub("", line):
            raise TemplateError(f"{where}: cannot be read; macros are %x[row,column]")
        if line[0] == "B":
            if macros:
                raise TemplateError(
                    f"{where}: a pair of labels has one weight here, whatever the "
                    "tokens are; write B alone, or use U"
                )
            order = 1
            continue
        terms = []
        for row, column in macros:
            names = columns or default_names(int(column) + 1)
            if int(column) >= len(names):
                raise TemplateError(
                    f"{where}: column {column}, but there are {', '.join(names)}; name "
                    "all columns of the file"
                )
            terms.append(f"{names[int(column)]}[{int(row)}]")
        lines.append("|".join(terms) or "bias")
    templates = "".join(f"{line}\n" for line in lines)
    parse_templates(templates)
    return Converted(templates, order)
