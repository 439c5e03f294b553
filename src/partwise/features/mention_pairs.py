"""Features of pairs of mentions, for coreference: words, distance, agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from partwise.parameters import check_whole
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

# templates of features, by the numbers of their first and last in NAMES
TEMPLATES = {
    "words": (0, 3), "pronouns": (4, 9), "names": (10, 11), "articles": (12, 13),
    "agreement": (14, 17), "positions": (18, 19), "sentences": (20, 24),
    "mentions": (25, 28),
}  # fmt: skip
WINDOW = 20


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


def feature_numbers(templates: Sequence[str] | None = None) -> list[int]:
    """Numbers in `NAMES` of the features of some templates, all by default."""
    chosen: list[int] = []
    for name in dict.fromkeys(TEMPLATES if templates is None else templates):
        if name not in TEMPLATES:
            raise ValueError(
                f"{name!r} is no template of pairs; choose from {', '.join(TEMPLATES)}"
            )
        first, last = TEMPLATES[name]
        chosen += range(first, last + 1)
    return chosen


class PairSettings(NamedTuple):
    """Which mentions may be linked, and by what features."""

    window: int = WINDOW
    templates: list[str] | None = None

    @classmethod
    def parse(cls, window: int | None, templates: str | None) -> Self:
        """From options of the command line; what is not known is refused."""
        check_whole("window", window, 1)
        names = None
        if templates is not None:
            names = [name.strip() for name in templates.split(",")]
            feature_numbers(names)
        return cls(window or WINDOW, names)

    @classmethod
    def of_model(cls, model: Any, path: str) -> Self:
        """Those of the training, from the model's file."""
        saved = model.info.get("reader", {})
        window, templates = saved.get("window"), saved.get("templates")
        is_whole = type(window) is int and window > 0
        settings = cls(window if is_whole else WINDOW, templates)
        if model.scoring.feature_names[:-1] != settings.names():
            raise ValueError(
                f"{path}: trained on features of your own; use it from Python with "
                "partwise.load"
            )
        return settings

    def names(self) -> list[str]:
        """Names of the features."""
        return [NAMES[k] for k in feature_numbers(self.templates)]


def mention_pairs(
    document: CoreferenceDocument,
    window: int = WINDOW,
    templates: Sequence[str] | None = None,
) -> tuple[int, Ints, np.ndarray]:
    """Mentions as items to cluster: (n_items, pairs, features).

    Parameters
    ----------
    document : CoreferenceDocument
    window : int
        Mentions between two that may be linked whatever their words.
    templates : list of str, optional
        Which features: names in `TEMPLATES`; all by default.

    Returns
    -------
    n_items : int
    pairs : int array (m, 2)
    features : float array (m, 29), or of fewer columns with `templates`
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
    chosen = [columns[k] for k in feature_numbers(templates)]
    return len(m.head), pairs, np.column_stack(chosen).astype(np.float64)


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
