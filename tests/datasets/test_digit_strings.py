from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from partwise.datasets import digit_images, digit_strings
from partwise.metrics import exact_match, token_error


def test_strings_have_the_promised_shape():
    X, y = digit_strings(200, length=(2, 5))
    assert len(X) == len(y) == 200
    assert {len(labels) for labels in y} == {2, 3, 4, 5}
    for x, labels in zip(X, y, strict=True):
        assert x.shape == (len(labels), 64)
        assert digit_images(x).shape == (len(labels), 8, 8)
        assert x.min() >= 0
        assert x.max() <= 1
    assert {label for labels in y for label in labels} == set("0123456789")


def test_seeds_decide():
    first, second = digit_strings(20), digit_strings(20)
    assert first[1] == second[1]
    assert all((a == b).all() for a, b in zip(first[0], second[0], strict=True))
    assert digit_strings(5)[1] == first[1][:5]
    assert digit_strings(20, random_state=1)[1] != first[1]
    assert digit_strings(20, subset="test")[1] != first[1]
    rng = np.random.default_rng(3)
    assert (
        digit_strings(20, random_state=rng)[1] != digit_strings(20, random_state=rng)[1]
    )


def test_train_and_test_share_no_image_and_labels_are_those_of_the_images():
    pixels, targets = load_digits(return_X_y=True)
    number = {(image / 16).tobytes(): i for i, image in enumerate(pixels)}
    seen = {}
    for subset in ("train", "test"):
        X, y = digit_strings(300, subset=subset, noise=0)
        seen[subset] = {number[image.tobytes()] for x in X for image in x}
        for x, labels in zip(X, y, strict=True):
            assert [str(targets[number[image.tobytes()]]) for image in x] == labels
    assert len(seen["train"]) > 600
    assert not seen["train"] & seen["test"]


def test_successive_digits_follow_the_rule_mostly():
    _, y = digit_strings(400)
    steps = [(int(b) - int(a)) % 10 for labels in y for a, b in pairwise(labels)]
    share = np.bincount(steps, minlength=10) / len(steps)
    assert share[1] == pytest.approx(0.66, abs=0.04)
    assert share[3] == pytest.approx(0.26, abs=0.04)
    assert share.min() > 0


def test_order_helps_to_read():
    X, y = digit_strings(400)
    X_test, y_test = digit_strings(200, subset="test")
    alone = LogisticRegression(C=0.1, tol=1e-2, max_iter=500)
    alone.fit(np.vstack(X), np.concatenate(y))
    transition = np.ones((10, 10))
    for labels in y:
        for a, b in pairwise(labels):
            transition[int(a), int(b)] += 1
    transition = np.log(transition / transition.sum(axis=1, keepdims=True))

    by_letter = [alone.predict(x).tolist() for x in X_test]
    by_string = [viterbi(alone.predict_log_proba(x), transition) for x in X_test]
    error_alone = token_error(y_test, by_letter)
    error_chain = token_error(y_test, by_string)
    assert 0.15 < error_alone < 0.35
    assert error_chain < 0.6 * error_alone
    assert exact_match(y_test, by_string) > 2 * exact_match(y_test, by_letter)


def viterbi(scores, transition):
    best, back = scores[0], []
    for row in scores[1:]:
        total = best[:, None] + transition
        back.append(total.argmax(axis=0))
        best = total.max(axis=0) + row
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return [str(digit) for digit in reversed(path)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"subset": "dev"}, "'train' or 'test'"),
        ({"length": (5, 4)}, "least, greatest"),
        ({"length": (0, 4)}, "least, greatest"),
        ({"noise": -1}, "negative"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        digit_strings(1, **settings)
