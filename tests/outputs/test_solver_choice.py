"""Which solvers an output names, takes and refuses."""

import pytest

from partwise import (
    ConstituencyParser,
    DependencyParser,
    MulticlassClassifier,
    Ranker,
    Reranker,
    SequenceAligner,
    SequenceTagger,
)
from partwise.datasets import toy_entities
from partwise.outputs.registry import OUTPUTS
from partwise.solvers import SOLVERS

ESTIMATORS = [
    pytest.param(getattr(o.module("estimator"), o.estimator), id=o.estimator)
    for o in OUTPUTS
]


def refusal(estimator):
    with pytest.raises(ValueError) as caught:
        estimator.check_parameters()
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "baselines"),
    [
        (SequenceTagger, {"hmm", "generative"}),
        (ConstituencyParser, {"pcfg", "generative"}),
        (SequenceAligner, {"generative"}),
        (DependencyParser, set()),
        (MulticlassClassifier, set()),
    ],
)
def test_an_output_names_its_own_baselines(kind, baselines):
    message = refusal(kind(solver="nonsense"))
    choices = set(message.partition("choose from ")[2].split(", "))
    assert choices & {"hmm", "pcfg", "generative"} == baselines
    assert {"auto", "bcfw", "one_slack"} < choices


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_solver_is_taken_where_it_is_named(kind):
    fields = kind.__dataclass_fields__
    first = {"structure": None} if "structure" in fields else {}
    first |= {"kernel": "linear"} if kind is Reranker else {}
    first |= {"k": 2} if "k" in fields else {}
    choices = (
        refusal(kind(**first, solver="?")).partition("choose from ")[2].split(", ")
    )
    for name in SOLVERS:
        estimator = kind(**first, solver=name)
        if name in choices:
            estimator.check_parameters()
        else:
            assert f"solver='{name}'" in refusal(estimator)


def test_votes_and_rounds_are_for_those_that_have_them():
    assert "a vote needs one search" in refusal(
        SequenceTagger(solver="voted_perceptron")
    )
    assert "hidden parts" in refusal(MulticlassClassifier(solver="cccp"))
    assert "voted_perceptron" in refusal(Reranker("linear", solver="nonsense"))
    Ranker(measure="ndcg", latent=True, solver="cccp").check_parameters()
    X, y = toy_entities(6)
    with pytest.raises(ValueError, match=r"solver='cccp': no truth has a hidden part"):
        SequenceTagger(solver="cccp").fit(X, y)


def test_the_penalty_decides_too():
    message = refusal(SequenceTagger(solver="bcfw", loss="log"))
    assert message == (
        "solver='bcfw' does not go with loss='log'; choose from auto, lbfgs, hmm, "
        "generative"
    )
    message = refusal(SequenceTagger(solver="lbfgs"))
    assert "add loss='log', or choose from auto, bcfw" in message
    message = refusal(SequenceTagger(solver="pcfg"))
    assert "the generative model of this output is 'hmm'" in message
