"""Word alignment: learn which words of two sentences are translations of each other.

The method of Taskar, Lacoste-Julien and Klein (EMNLP 2005): every pair of an English
and a French word has a few features, among them how often the two occur together in
many sentences without alignments; the best alignment is a matching, in which words may
stay alone. The sentences come from a small grammar: French adjectives follow most nouns
("the old red house" is "la vieille maison rouge"), "does not see" is "ne voit pas", and
names are spelt alike. Run it: ``python examples/word_alignment.py``.
"""

from collections import Counter

import numpy as np

from partwise import AssignmentMatcher

NOUNS = {
    "house": ("maison", 1), "dog": ("chien", 0), "table": ("table", 1),
    "book": ("livre", 0), "garden": ("jardin", 0), "car": ("voiture", 1),
    "friend": ("ami", 0), "city": ("ville", 1), "train": ("train", 0),
    "window": ("fenêtre", 1), "river": ("rivière", 1), "bread": ("pain", 0),
}  # fmt: skip
BEFORE = {"old": ("vieux", "vieille"), "big": ("grand", "grande")}
BEHIND = {
    "red": ("rouge",) * 2,
    "green": ("vert", "verte"),
    "open": ("ouvert", "ouverte"),
}
VERBS = {"see": "voit", "find": "trouve", "like": "aime", "take": "prend"}
SYLLABLES = ["an", "na", "lu", "ca", "mo", "ri", "el", "to"]  # of names
FEATURES = ["dice", "dice²", "distance", "same word", "length", "neighbours"]


def noun_phrase(rng):
    """English and French words, and the number of the translation of each."""
    if rng.random() < 0.3:
        name = "".join(rng.choice(SYLLABLES, size=3)).capitalize()
        return [name], [name], [0]
    noun = list(NOUNS)[rng.integers(len(NOUNS))]
    french, gender = NOUNS[noun]
    articles = [("the", ("le", "la")), ("a", ("un", "une"))]
    article, forms = articles[rng.integers(2)]
    english, translated, order = [article], [forms[gender]], [0]
    before = [a for a in BEFORE if rng.random() < 0.25]
    behind = [a for a in BEHIND if rng.random() < 0.25]
    for adjective in before:
        english.append(adjective)
        order.append(len(translated))
        translated.append(BEFORE[adjective][gender])
    place = len(translated)
    translated.append(french)
    for adjective in behind:
        english.append(adjective)
        order.append(len(translated))
        translated.append(BEHIND[adjective][gender])
    return [*english, noun], translated, [*order, place]


def sentence_pair(rng):
    """An English sentence, its translation, and the partner of each English word."""
    subject, sujet, first = noun_phrase(rng)
    thing, objet, second = noun_phrase(rng)
    verb = list(VERBS)[rng.integers(len(VERBS))]
    english, french, partners = [f"{verb}s"], [VERBS[verb]], [0]
    if rng.random() < 0.3:
        english, french = ["does", "not", verb], ["ne", VERBS[verb], "pas"]
        partners = [-1, 2, 1]
    partners = [k + len(sujet) if k >= 0 else k for k in partners]
    n_before = len(sujet) + len(french)
    return (
        [*subject, *english, *thing, "."],
        [*sujet, *french, *objet, "."],
        [*first, *partners, *(k + n_before for k in second), n_before + len(objet)],
    )


def dice_table(corpus):
    """2·n(both) / (n(one) + n(other)) of words over sentence pairs."""
    both, one, other = Counter(), Counter(), Counter()
    for english, french, _ in corpus:
        one.update(set(english))
        other.update(set(french))
        both.update((e, f) for e in set(english) for f in set(french))
    return {(e, f): 2 * n / (one[e] + other[f]) for (e, f), n in both.items()}


def pair_features(english, french, dice):
    """Features of all pairs of words, (n_english, n_french, 6)."""
    n, m = len(english), len(french)
    table = np.array([[dice.get((e, f), 0.0) for f in french] for e in english])
    place = np.arange(n)[:, None] / n - np.arange(m) / m
    same = [[float(e == f and e != ".") for f in french] for e in english]
    length = [[abs(len(e) - len(f)) / 10 for f in french] for e in english]
    near = np.zeros((n, m))  # how well the words on the left and right go together
    near[1:, 1:] += table[:-1, :-1]
    near[:-1, :-1] += table[1:, 1:]
    return np.stack([table, table**2, np.abs(place), same, length, near], axis=2)


def error_rate(truths, predictions):
    """Alignment error rate, 1 − 2·|both| / (|true| + |predicted|)."""
    sure = [{(i, j) for i, j in enumerate(y) if j >= 0} for y in truths]
    predicted = [{(i, j) for i, j in enumerate(y) if j >= 0} for y in predictions]
    both = sum(len(a & b) for a, b in zip(sure, predicted, strict=True))
    return 1 - 2 * both / sum(len(s) for s in sure + predicted)


def main():
    """Learn from 50 aligned sentence pairs, and align 300 others."""
    rng = np.random.default_rng(0)
    corpus = [sentence_pair(rng) for _ in range(1000)]
    dice = dice_table(corpus[350:])  # without alignments
    X = [pair_features(english, french, dice) for english, french, _ in corpus[:350]]
    y = [partners for _, _, partners in corpus[:350]]
    print("alignment error rate on 300 sentence pairs")
    for name, columns in (("dice alone", [0]), ("all features", list(range(6)))):
        some = [x[:, :, columns] for x in X]
        matcher = AssignmentMatcher(unmatched=True, C=500)
        matcher.fit(some[:50], y[:50])
        print(f"  {name:13} {error_rate(y[50:], matcher.predict(some[50:])):.3f}")
    for name, weight in zip([*FEATURES, "any pair"], matcher.coef_, strict=True):
        print(f"  {weight:+7.2f}  {name}")
    english, french, _ = corpus[50]
    for word, partner in zip(english, matcher.predict(X[50:51])[0], strict=True):
        print(f"{word:>10}  {french[partner] if partner >= 0 else '—'}")


if __name__ == "__main__":
    main()
