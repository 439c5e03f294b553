"""Features of pairs of mentions, for coreference: words, distance, agreement."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from partwise.readers.coreference import CoreferenceDocument

Ints = np.ndarray

PRONOUNS = {
    # gender (m, f, n, ? for any) and number (s, p, ? for any) of what they stand for
    **dict.fromkeys("he him his himself".split(), "ms"),
    **dict.fromkeys("she her hers herself".split(), "fs"),
    **dict.fromkeys("it its itself".split(), "ns"),
    **dict.fromkeys("i me my mine myself".split(), "1s"),
    **dict.fromkeys("you your yours yourself thou thee thy thine".split(), "2?"),
    **dict.fromkeys("we us our ours ourselves".split(), "1p"),
    **dict.fromkeys("they them their theirs themselves".split(), "?p"),
    **dict.fromkeys("who whom whose which that this".split(), "??"),
}
MALE = set("mr mr. sir lord king father brother son uncle man boy gentleman".split())
FEMALE = set(
    "mrs mrs. miss lady queen mother sister daughter aunt woman girl madam".split()
)
DEFINITE = {"the", "this", "that", "these", "those"}
INDEFINITE = {"a", "an", "some", "any", "no"}

NAMES = [
    "same words", "same head", "same head, no pronoun", "one within the other's words",
    "both pronouns, same", "both pronouns, same kind", "both pronouns, other kind",
    "first is a pronoun", "second is a pronoun", "second alone is a pronoun",
    "both names", "both names, same head", "second is definite", "second is indefinite",
    "same gender", "other gender", "same number", "other number",
    "nested", "apposition", "same sentence", "next sentence", "2-3 sentences",
    "4-9 sentences", "10 sentences or more", "next mention", "2-4 mentions",
    "5-19 mentions", "20 mentions or more",
]  # fmt: skip


class Mentions(NamedTuple):
    """Attributes of all mentions, int64 arrays (n,)."""

    words: Ints  # number of the lower-case string
    head: Ints  # number of its last word
    pronoun: Ints  # number of the pronoun's kind, -1 without
    is_name: Ints
    definite: Ints  # 1, -1 for indefinite, 0
    gender: Ints  # 0 unknown, 1 male, 2 female, 3 neither, 4 and 5 speaker and hearer
    plural: Ints  # 0 unknown, 1 singular, 2 plural
    sentence: Ints
    first: Ints
    last: Ints


def describe_mentions(document: CoreferenceDocument) -> Mentions:
    """Columns of the mentions of a document."""
    rows = []
    numbers: dict[str, int] = {}
    for a, z in document.mentions:
        words = document.words[a : z + 1]
        lower = [word.lower() for word in words]
        head = lower[-1]
        kind = PRONOUNS.get(head, "") if len(words) == 1 else ""
        gender = {"m": 1, "f": 2, "n": 3, "1": 4, "2": 5}.get(kind[:1], 0)
        plural = {"s": 1, "p": 2}.get(kind[1:2], 0)
        if not kind:
            gender = 1 if MALE & set(lower) else 2 if FEMALE & set(lower) else 0
            is_plural = head.endswith("s") and not head.endswith("ss")
            plural = 2 if is_plural or "and" in lower else 1
        definite = (lower[0] in DEFINITE) - (lower[0] in INDEFINITE)
        is_name = not kind and words[-1][:1].isupper()
        strings = (" ".join(lower), head, f"kind {kind}")
        text, last, sort = (numbers.setdefault(s, len(numbers)) for s in strings)
        rows.append(
            (text, last, sort if kind else -1, is_name, definite, gender, plural,
             document.sentence[a], a, z)
        )  # fmt: skip
    table = np.array(rows, np.int64).reshape(-1, 10)
    return Mentions(*table.T)


def candidate_pairs(document: CoreferenceDocument, window: int) -> Ints:
    """Pairs of mentions up to `window` apart, and all with the same last word.

    Pronouns are paired within the window alone. Shape (m, 2), rising.
    """
    mentions = describe_mentions(document)
    n = len(mentions.head)
    one, other = np.triu_indices(n, 1)
    is_near = other - one <= window
    is_alike = (mentions.head[one] == mentions.head[other]) & (
        mentions.pronoun[one] < 0
    )
    keep = is_near | is_alike
    return np.column_stack([one[keep], other[keep]])


def mention_pairs(
    document: CoreferenceDocument, window: int = 20
) -> tuple[int, Ints, np.ndarray]:
    """Mentions as items to cluster: (n_items, pairs, features).

    Parameters
    ----------
    document : CoreferenceDocument
    window : int
        Mentions between two that may be linked whatever their words.

    Returns
    -------
    n_items : int
    pairs : int array (m, 2)
    features : float array (m, 29)
        0 or 1, see `NAMES`.
    """
    m = describe_mentions(document)
    pairs = candidate_pairs(document, window)
    a, b = pairs.T
    pro_a, pro_b = m.pronoun[a] >= 0, m.pronoun[b] >= 0
    both = pro_a & pro_b
    same_words, same_head = m.words[a] == m.words[b], m.head[a] == m.head[b]
    names = (m.is_name[a] & m.is_name[b]) > 0
    apart = m.sentence[b] - m.sentence[a]
    between = b - a
    genders = (m.gender[a] > 0) & (m.gender[b] > 0)
    numbers = (m.plural[a] > 0) & (m.plural[b] > 0)
    comma = np.array([word == "," for word in [*document.words, ""]])
    is_apposition = (m.first[b] == m.last[a] + 2) & comma[
        np.minimum(m.last[a] + 1, len(document.words))
    ]
    nested = m.last[b] <= m.last[a]
    columns = [
        same_words, same_head, same_head & ~both, _within(document, pairs),
        both & same_words, both & (m.pronoun[a] == m.pronoun[b]),
        both & (m.pronoun[a] != m.pronoun[b]),
        pro_a, pro_b, pro_b & ~pro_a,
        names, names & same_head, m.definite[b] > 0, m.definite[b] < 0,
        genders & (m.gender[a] == m.gender[b]), genders & (m.gender[a] != m.gender[b]),
        numbers & (m.plural[a] == m.plural[b]), numbers & (m.plural[a] != m.plural[b]),
        nested, is_apposition & ~nested,
        apart == 0, apart == 1, (apart >= 2) & (apart <= 3),
        (apart >= 4) & (apart <= 9), apart >= 10,
        between == 1, (between >= 2) & (between <= 4),
        (between >= 5) & (between <= 19), between >= 20,
    ]  # fmt: skip
    return len(m.head), pairs, np.column_stack(columns).astype(np.float64)


def _within(document: CoreferenceDocument, pairs: Ints) -> Ints:
    """Whether all words of one mention are words of the other."""
    numbers: dict[str, int] = {}
    word, offset = [], [0]
    for first, last in document.mentions:
        lower = {text.lower() for text in document.words[first : last + 1]}
        word += [numbers.setdefault(text, len(numbers)) for text in lower]
        offset.append(len(word))
    shape = (len(document.mentions), len(numbers))
    counts = sparse.csr_array((np.ones(len(word)), word, offset), shape=shape)
    size = np.diff(offset)
    a, b = pairs.T
    shared = counts[a].multiply(counts[b]).sum(axis=1)
    return shared == np.minimum(size[a], size[b])
