"""A toy grammar of English news, as data.

In a rule the head of the phrase has a star; every other symbol names, after the
colon, its relation to that head. What follows the dot of a symbol only guides the
choice of words: trees and tags show `NP` and `NNP` for `NP.person` and `NNP.first`.
"""

START = "S"

# Phrases: right-hand side -> weight.
RULES: dict[str, dict[str, float]] = {
    "S": {
        "NP.person:nsubj VP.person* PUNCT:punct": 5,
        "NP.org:nsubj VP.org* PUNCT:punct": 3,
        "NP.thing:nsubj VP.thing* PUNCT:punct": 2,
        "PP.place:obl NP.person:nsubj VP.person* PUNCT:punct": 1,
    },
    "S.inner": {
        "NP.person:nsubj VP.person*": 3,
        "NP.org:nsubj VP.org*": 2,
        "NP.thing:nsubj VP.thing*": 1,
    },
    "SBAR": {"IN.that:mark S.inner*": 1},
    "VP.person": {
        "VBD.visit* NP.place:obj": 3,
        "VBD.meet* NP.person:obj": 3,
        "VBD.meet* NP.person:obj PP.place:obl": 2,
        "VBD.join* NP.org:obj": 2,
        "VBD.live* PP.place:obl": 2,
        "VBD.see* NP.thing:obj": 2,
        "VBD.see* NP.thing:obj PP.with:obl": 1,
        "VBD.say* SBAR:ccomp": 2,
        "VBD.rest* ADVP:advmod": 1,
        "VP.person* CC:cc VP.person:conj": 0.5,
    },
    "VP.org": {
        "VBD.buy* NP.org:obj": 3,
        "VBD.buy* NP.thing:obj PP.place:obl": 2,
        "VBD.hire* NP.person:obj": 3,
        "VBD.say* SBAR:ccomp": 1,
        "VBD.grow* ADVP:advmod": 1,
    },
    "VP.thing": {
        "VBD.stand* PP.place:obl": 2,
        "VBD.please* NP.person:obj": 2,
        "VBD.grow* ADVP:advmod": 1,
    },
    "NP.person": {
        "NP.per*": 6,
        "DT:det NN.person*": 2,
        "DT:det JJ:amod NN.person*": 1,
        "NP.person* PP.of:nmod": 0.7,
        "NP.person* CC:cc NP.person:conj": 0.5,
    },
    "NP.place": {"NP.loc*": 6, "DT:det NN.place*": 2},
    "NP.thing": {
        "DT:det NN.thing*": 4,
        "DT:det JJ:amod NN.thing*": 3,
        "NP.thing* PP.place:nmod": 1,
        "NP.thing* PP.of:nmod": 1,
    },
    "NP.per": {
        "NNP.first*": 3,
        "NNP.first* NNP.last:flat": 4,
        "NNP.title:compound NNP.last*": 2,
    },
    "NP.loc": {"NNP.place*": 5, "NNP.compass:compound NNP.place*": 1},
    "NP.org": {
        "NNP.firm*": 4,
        "NNP.firm* NNP.suffix:flat": 2,
        "NNP.place:compound NNP.club*": 1,
    },
    "PP.place": {"IN.place:case NP.place*": 1},
    "PP.with": {"IN.with:case NP.thing*": 1},
    "PP.of": {"IN.of:case NP.org*": 1},
    "ADVP": {"RB*": 3, "RB.degree:advmod RB*": 1},
}

# Phrases that are named entities.
ENTITIES = {"NP.per": "PER", "NP.loc": "LOC", "NP.org": "ORG"}

# Tags of Universal Dependencies for those of the trees.
UNIVERSAL = {
    "NNP": "PROPN", "NN": "NOUN", "DT": "DET", "JJ": "ADJ", "VBD": "VERB", "IN": "ADP",
    "RB": "ADV", "CC": "CCONJ", "PUNCT": "PUNCT",
}  # fmt: skip

# Words of each tag, all equally likely. Many names stand in several rows, so that
# only their neighbours tell a person from a place from a firm.
WORDS: dict[str, list[str]] = {
    symbol: words.split()
    for symbol, words in {
        "NNP.first": "Jordan Paris Florence Austin Chelsea Georgia Morgan Anna Peter",
        "NNP.last": "Washington Lincoln Ford Morgan Siemens Houston Jordan Smith",
        "NNP.place": "Jordan Paris Florence Austin Chelsea Georgia Washington Lincoln "
        "Houston Berlin",
        "NNP.firm": "Ford Morgan Siemens Lincoln Chelsea Austin Washington Acme",
        "NNP.title": "Mr. Mrs. Dr.",
        "NNP.compass": "North South New",
        "NNP.suffix": "Group Bank Motors",
        "NNP.club": "United Rovers",
        "NN.person": "lawyer singer pilot neighbour",
        "NN.place": "harbour village museum station",
        "NN.thing": "report bridge painting telescope car",
        "DT": "the the a",
        "JJ": "new small famous quiet red",
        "VBD.visit": "visited left reached saw",
        "VBD.meet": "met called saw thanked",
        "VBD.join": "joined left sued",
        "VBD.live": "lived worked stayed",
        "VBD.see": "saw painted found",
        "VBD.say": "said thought announced",
        "VBD.rest": "slept waited",
        "VBD.buy": "bought sold sued",
        "VBD.hire": "hired called sued",
        "VBD.grow": "grew changed",
        "VBD.stand": "stood remained",
        "VBD.please": "pleased surprised",
        "IN.place": "in near from",
        "IN.with": "with",
        "IN.of": "of at",
        "IN.that": "that",
        "RB": "quickly slowly quietly",
        "RB.degree": "very rather",
        "CC": "and",
        "PUNCT": ". . . !",
    }.items()
}
