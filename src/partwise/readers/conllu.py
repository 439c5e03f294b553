"""CoNLL-U and CoNLL-X: one word per line, ten columns between tabs.

====  ========  ==========================================================
 no.  CoNLL-U   here
====  ========  ==========================================================
  1   ID        `1`; also `1-2` (a token of several words), `1.1` (an empty node)
  2   FORM      `X.column("form")`
  3   LEMMA     `X.column("lemma")`
  4   UPOS      `X.column("upos")` (CoNLL-X: CPOSTAG)
  5   XPOS      `X.column("xpos")` (CoNLL-X: POSTAG)
  6   FEATS     `X.column("feats")`
  7   HEAD      `y[s].heads`
  8   DEPREL    `y[s].labels`
  9   DEPS      not in X: it repeats the answer (CoNLL-X: PHEAD)
 10   MISC      `X.column("misc")` (CoNLL-X: PDEPREL, not in X)
====  ========  ==========================================================

The words make the trees. Comments, tokens of several words and empty nodes are kept in
the `ConlluDocument` and come back unchanged when predictions are written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from partwise.readers._conllu_checks import (
    BAD_HEAD,
    NO_HEAD,
    check_trees,
    first_row,
    line_of,
    parse_head,
    parse_heads,
    word_rows,
)
from partwise.readers.fields import Fields, encode_fields, scan_fields
from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree

WIDTHS = (8, 10)  # CoNLL-X files may lack PHEAD and PDEPREL
HEAD, DEPREL = 6, 7
NAMES = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "feats": 5}
MISC = 9


@dataclass(frozen=True)
class ConlluDocument:
    """
    A CoNLL-U file in memory: its words as columns, its trees, and all its bytes.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    data : bytes
        The file, decompressed.
    table : Table
        Columns form, lemma, upos, xpos, feats (and misc) of the words.
    trees : list of DependencyTree or None
        None when every HEAD is `_`, or without `trees`.
    place : int64 array of shape (n_words, 2)
        The bytes of HEAD, tab and DEPREL of each word, which `fill` replaces.
    """

    name: str
    data: bytes
    table: Table
    trees: list[DependencyTree] | None
    place: np.ndarray

    def fill(
        self, trees: Sequence[DependencyTree], rows: Sequence[int] | None = None
    ) -> bytes:
        """
        Return the file with other trees: only HEAD and DEPREL of words change.

        Parameters
        ----------
        trees : sequence of DependencyTree
            One per sentence, or per item of `rows`.
        rows : sequence of int, optional
            Numbers of the sentences to change, rising; all by default.

        Returns
        -------
        bytes
        """
        offset = self.table.offset
        place = self.place
        lengths = np.diff(offset)
        if rows is not None:
            chosen = np.zeros(len(lengths), dtype=bool)
            chosen[list(rows)] = True
            place = place[np.repeat(chosen, lengths)]
            lengths = lengths[chosen]
        flat = _flat_trees(trees, lengths)
        pieces = []
        at = 0
        data = self.data
        for (begin, end), answer in zip(place.tolist(), flat, strict=True):
            pieces.append(data[at:begin])
            pieces.append(answer)
            at = end
        pieces.append(data[at:])
        return b"".join(pieces)

    def place_of(self, sentence: int) -> str:
        """File and line of the first word of a sentence."""
        word = self.place[int(self.table.offset[sentence]), 0]
        return f"{self.name}:{line_of(self.data, int(word))}"

    def known_heads(self) -> list[list[int | None]]:
        """
        Read the heads of trees that may be incomplete.

        Returns
        -------
        list of lists of int or None
            One list per sentence; None where HEAD is `_`.
        """
        texts = [
            self.data[begin:end].split(b"\t", 1)[0].decode()
            for begin, end in self.place.tolist()
        ]
        heads = []
        for a, b in pairwise(self.table.offset.tolist()):
            sentence: list[int | None] = []
            for t in range(a, b):
                head = parse_head(texts[t])
                if head == BAD_HEAD or head > b - a:
                    line = line_of(self.data, self.place[t, 0])
                    raise ReaderError(
                        f"{self.name}:{line}: HEAD {texts[t]!r} in a sentence of "
                        f"{b - a} words; write 0, the ID of one of them, or `_`"
                    )
                sentence.append(None if head == NO_HEAD else head)
            heads.append(sentence)
        return heads


def read_conllu(
    path: Source, *, single_root: bool = True, partial: bool = False
) -> tuple[Table, list[DependencyTree] | None]:
    r"""
    Read a CoNLL-U or CoNLL-X file as scikit-learn's pair X, y.

    Parameters
    ----------
    path : path, "-" or open binary file
        "-" is standard input; gzip is recognised by its content. The text is UTF-8.
    single_root : bool, default=True
        Refuse a tree with several words under 0, as Universal Dependencies do;
        CoNLL-X treebanks may have them.
    partial : bool, default=False
        Some words may have the HEAD `_`, which is then None in y: not known. So is the
        DEPREL `_` in a file with other relations.

    Returns
    -------
    X : Table
        Columns form, lemma, upos, xpos, feats and, with ten columns, misc.
    y : list of DependencyTree, or None
        None when the file has no trees: every HEAD is `_`.

    Raises
    ------
    ReaderError
        The text names the file, the line and the remedy.

    Examples
    --------
    >>> import io
    >>> rows = ["1 it it PRON PRP _ 2 nsubj _ _", "2 works work VERB VBZ _ 0 root _ _"]
    >>> file = io.BytesIO("\n".join(rows).replace(" ", "\t").encode())
    >>> X, y = read_conllu(file)
    >>> X.strings("form"), y
    ([['it', 'works']], [DependencyTree(heads=[2, 0], labels=['nsubj', 'root'])])
    """
    document = read_conllu_document(path, single_root=single_root, partial=partial)
    return document.table, document.trees


def read_conllu_document(
    path: Source, *, single_root: bool = True, trees: bool = True, partial: bool = False
) -> ConlluDocument:
    """
    Read a CoNLL-U file with everything needed to write it again.

    Parameters
    ----------
    path : path, "-" or open binary file
    single_root, partial : bool
        As for `read_conllu`.
    trees : bool, default=True
        Whether to read HEAD and DEPREL at all; without them any content is accepted
        there, which is how a file is prepared for prediction.

    Returns
    -------
    ConlluDocument
    """
    name, data = read_text_bytes(path)
    width = _width(name, data)
    fields = scan_fields(name, data, width, "\t", b"#")
    rows, offset = word_rows(name, data, fields)
    start, stop = fields.start, fields.stop
    if len(rows) < start.shape[1]:
        start, stop = start[:, rows], stop[:, rows]
    words = Fields(start, stop, offset)
    names = NAMES | ({"misc": MISC} if width > MISC else {})
    table = Table(
        {n: encode_fields(data, start[c], stop[c]) for n, c in names.items()}, offset
    )
    place = np.column_stack([start[HEAD], stop[DEPREL]])
    trees_read = None
    if trees:
        trees_read = _read_trees(name, data, words, single_root, partial)
    return ConlluDocument(name, data, table, trees_read, place)


def write_conllu(
    path: Source, X: ConlluDocument | Table, y: Sequence[DependencyTree] | None = None
) -> None:
    r"""
    Write trees as CoNLL-U; a file appears whole or not at all.

    Parameters
    ----------
    path : path, "-" or open binary file
        "-" is standard output; a name that ends in ``.gz`` is compressed.
    X : ConlluDocument or Table
        A document is written as it was read, HEAD and DEPREL of its words apart. From
        a table come the columns form (or word), lemma, upos, xpos (or pos), feats and
        misc that it has; the others are `_`.
    y : sequence of DependencyTree, optional
        One per sentence; without trees HEAD and DEPREL are `_`, or those of the
        document.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> X = Table.from_sequences([["it", "works"]], ["form"])
    >>> write_conllu(file, X, [DependencyTree([2, 0], ["nsubj", "root"])])
    >>> print(file.getvalue().decode().replace("\t", " ").strip())
    1 it _ _ _ _ 2 nsubj _ _
    2 works _ _ _ _ 0 root _ _
    """
    if isinstance(X, ConlluDocument):
        write_bytes(path, X.data if y is None else X.fill(y))
        return
    lengths = np.diff(X.offset)
    flat = [b"_\t_"] * X.n_tokens if y is None else _flat_trees(y, lengths)
    answers = [answer.decode() for answer in flat]
    names = {"word": 1, "pos": 4} | NAMES | {"misc": MISC}
    columns = [["_"] * X.n_tokens for _ in range(MISC + 1)]
    columns[0] = [str(i) for n in lengths.tolist() for i in range(1, n + 1)]
    for name in X.columns:
        if name in names:
            columns[names[name]] = _writable(X, name)
    columns[HEAD : DEPREL + 1] = [answers]
    rows = list(map("\t".join, zip(*columns, strict=True)))
    ends = X.offset.tolist()
    sentences = ["\n".join(rows[a:b]) + "\n\n" for a, b in pairwise(ends)]
    write_bytes(path, "".join(sentences).encode())


def _width(name: str, data: bytes) -> int:
    """Return the number of columns of the first line that is no comment."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        line = data[begin:end]
        if line.strip() and not line.startswith(b"#"):
            width = line.count(b"\t") + 1
            if width in WIDTHS:
                return width
            raise ReaderError(
                f"{name}:{line_of(data, begin)}: {width} column{'s'[: width > 1]} "
                "where CoNLL-U has 10; separate ten columns by tabs (`_` for nothing); "
                "files of tokens and labels are for `partwise train tag`, in Python "
                "for read_columns"
            )
        begin = end + 1
    raise ReaderError(f"{name}: no word in the file; it needs one word per line")


def _read_trees(
    name: str, data: bytes, words: Fields, single_root: bool, partial: bool
) -> list[DependencyTree] | None:
    heads = parse_heads(name, data, words, partial)
    if heads is None:
        return None
    check_trees(name, data, words, heads, single_root)
    relation = encode_fields(data, words.start[DEPREL], words.stop[DEPREL])
    unnamed = np.array([value == "" for value in relation.values])
    if unnamed.any():
        line = line_of(data, words.start[0, first_row(unnamed[relation.codes])])
        raise ReaderError(f"{name}:{line}: no DEPREL; write `_` for no name")
    names: list[Any] = list(relation.values)
    if partial and len(names) > 1:
        names = [None if label == "_" else label for label in names]
    labels = [names[code] for code in relation.codes.tolist()]
    flat: list[Any] = [None if head == NO_HEAD else head for head in heads.tolist()]
    ends = words.offset.tolist()
    return [DependencyTree(flat[a:b], labels[a:b]) for a, b in pairwise(ends)]


def _flat_trees(trees: Sequence[DependencyTree], lengths: np.ndarray) -> list[bytes]:
    """HEAD, tab and DEPREL of every word; refuses what could not be read back."""
    if len(trees) != len(lengths):
        raise ValueError(f"{len(trees)} trees for {len(lengths)} sentences")
    answers: dict[tuple[int, str], bytes] = {}
    flat = []
    for s, (tree, n) in enumerate(zip(trees, lengths.tolist(), strict=True)):
        heads, labels = tree
        if len(heads) != n or len(labels) != n:
            raise ValueError(
                f"tree {s}: {len(heads)} heads and {len(labels)} labels for {n} words"
            )
        for head, label in zip(heads, labels, strict=True):
            if not 0 <= head <= n:
                raise ValueError(f"tree {s}: head {head} in a sentence of {n} words")
            key = (int(head), str(label))
            if key not in answers:
                _check_field("label", key[1])
                answers[key] = f"{key[0]}\t{key[1]}".encode()
            flat.append(answers[key])
    return flat


def _writable(table: Table, name: str) -> list[str]:
    codes, values = table.column(name)
    for code in table.column(name).used():
        _check_field(f"column {name!r}", values[code])
    return [values[code] for code in codes.tolist()]


def _check_field(where: str, value: str) -> None:
    if not value or any(c in value for c in "\t\n\r"):
        raise ValueError(
            f"{where} holds {value!r}, which has no place in CoNLL-U; use `_` for "
            "nothing, and neither tabs nor line ends"
        )
