"""Texts for every reader: good ones and what chance makes of them."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from typing import Any

from partwise.features.crfpp import convert_crfpp
from partwise.features.templates import parse_templates
from partwise.readers import (
    parse_tree,
    read_annotations,
    read_arff,
    read_brackets,
    read_candidates,
    read_columns,
    read_conllu,
    read_crfsuite,
    read_families,
    read_graphs,
    read_homologues,
    read_label_sets,
    read_matrix,
    read_parents,
    read_svm_hmm,
    read_vectors,
)
from partwise.readers.coreference import read_coreference
from partwise.readers.matrices import read_csv, read_svmlight
from partwise.readers.pairs import read_pairs
from partwise.readers.sequences import read_sequences

CONLLU = (
    b"# text = a b\n1\ta\ta\tX\tY\tF=1\t2\tsub\t_\t_\n2\tb\t_\tX\tY\t_\t0\troot\t_\t_\n"
)
ARFF = (
    b"@relation r\n@attribute size numeric\n@attribute colour {red,'dark blue'}\n"
    b"@attribute class hierarchical a,a/b,a/c\n@data\n0.5,red,a/b\n{0 1,2 a/c}\n"
)
SEEDS: dict[str, tuple[Callable[[Any], Any], bytes]] = {
    "columns": (read_columns, b"the DT B-NP\ncat NN I-NP\n\ngo VB B-VP\n"),
    "tabs": (lambda f: read_columns(f, separator="\t"), b"the\tDT\ncat\tNN\n\n"),
    "conllu": (read_conllu, CONLLU),
    "brackets": (read_brackets, b"( (S (NP-SBJ (PRP it)) (VP (VB is) (-NONE- *))))\n"),
    "tree": (lambda f: parse_tree(as_text(f)), b"(S (NP (PRP it)) (VP (VB is)))"),
    "families": (read_families, b"# family f\n>a\nMKv-\n>b\nMRi.\n>=core\n1100\n"),
    "sequences": (read_sequences, b"+\tp1\tacgt\n-\tn1\ttttt\n"),
    "annotations": (read_annotations, b"name\tresidue\ts\ns1\tM\tH\ns1\tK\tE\n"),
    "profiles": (
        read_annotations,
        b"name\tresidue\tp:real\ns1\tM\t1e3 .5\ns1\tK\t0 1\n",
    ),
    "homologues": (
        lambda f: read_homologues(f, {"q": "MKV", "h": "MV", "d": "VM"}),
        b"query\tcandidate\tmatch\tquery_row\tcandidate_row\nq\td\t0\t\t\n"
        b"q\th\t1\tMKV\tM-V\n",
    ),
    "matrix": (read_matrix, b"# tiny\n   A  C\nA  4 -1\nC -1  9\n"),
    "svmlight": (read_svmlight, b"1 qid:1 1:0.5 3:2\n-1 qid:2 2:1 # a comment\n"),
    "csv": (read_csv, b'size,legs,animal\n0.3,4,cat\n"0.2",2,"bi""rd"\n'),
    "arff": (read_arff, ARFF),
    "label sets": (read_label_sets, b"1,3 1:0.5\n 2:1\n3 1:2\n"),
    "graphs": (read_graphs, b'{"nodes":[[1,0],[0,1]],"edges":[[0,1]],"labels":[1,0]}'),
    "parents": (read_parents, b"cat\tanimal\nanimal\n"),
    "pairs": (read_pairs, b"example\tleft\tright\tmatch\tnear\n1\ta\tx\t0\t0.5\n"),
    "candidates": (read_candidates, b"q1\td1\ts1 s2\ttitle\ttext\nq1\td2\t\tO\tM\n"),
    "coreference": (
        read_coreference,
        b"#begin document (d); part 0\nd\t0\t0\tAnn\t(1)\nd\t0\t1\tit\t(2|1)\n",
    ),
    "crfsuite": (read_crfsuite, b"B-X\tw=a\\:b\tlen:2.5\nO\tw=c\n\nO\tw=d\n"),
    "svm-hmm": (read_svm_hmm, b"1 qid:7 1:1 2:0.5 # the\n2 qid:7 3:1\n1 qid:8 1:1\n"),
    "crf++": (
        lambda f: convert_crfpp(as_text(f)),
        b"U00:%x[-1,0]\nU01:%x[0,0]/%x[0,1]\n\nB\n",
    ),
    "vectors": (read_vectors, b"2 3\ncat 1 0 0.5\ndog 1 0.1 0.5\n"),
    "templates": (lambda f: parse_templates(as_text(f)), b"word[0]\nlower(word[-1])\n"),
}
PIECES = (
    b"\n", b"\r", b"\t", b" ", b"\0", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xa8",
    b"\x85",
    b"\xef\xbb\xbf", b"(", b")", b"[", b"]", b"{", b"}", b"'", b'"', b",", b":", b"_",
    b"-", b"@", b"|", b"#", b">", b"%", b"\\", b"0", b"-1", b"1e308", b"1e999", b"nan",
    b"inf", b"9" * 25, b"9" * 5000, b"2147483648", b"x" * 300, b"1-2", b"1.1",
    b"\x1b[2J",
    b"(" * 2000, b"[" * 3000, b'{"a":' * 2000,
)  # fmt: skip


def as_text(file: Any) -> str:
    return file.read().decode("utf-8", "replace")


def mutate_text(text: bytes, rng: random.Random) -> bytes:
    """A text with a few changes; now and then compressed, or cut off."""
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        action = rng.random()
        if action < 0.4:
            text = text[:a] + rng.choice(PIECES) + text[a:]
        elif action < 0.55:
            text = text[:a] + rng.choice(PIECES) + text[b:]
        elif action < 0.7:
            text = text[:a] + text[b:]
        elif action < 0.85:
            text = text[:b] + text[a:b] + text[b:]
        else:
            text = text[:a] + bytes([rng.randrange(256)]) + text[a + 1 :]
    if rng.random() < 0.03:
        text = gzip.compress(text, mtime=0)[: rng.randrange(400)]
    return text


def judge_text(name: str, number: int) -> str:
    """What a reader does with a text: accepted, refused, or what went wrong."""
    read, text = SEEDS[name]
    text = mutate_text(text, random.Random(f"{name} {number}"))
    try:
        read(io.BytesIO(text))
    except ValueError as error:
        message = str(error)
        if isinstance(error, UnicodeError) or "\n" in message or len(message) > 1000:
            return f"FAILED {type(error).__name__}: {message[:100]!r}"
        return "refused"
    except Exception as error:
        return f"FAILED {type(error).__name__}: {str(error)[:100]!r}"
    return "accepted"
