"""A short seeded run of the fuzzers; `benchmarks/fuzz.py` is the long one."""

import os
import signal
import time
import warnings
from collections import Counter

import forked_runs
import pytest
from forked_runs import Fuzzer, Limits, warm
from model_subjects import Subject, make_subjects
from texts import SEEDS, judge_text

N_TEXTS = 400
N_MUTANTS = 360
SEED = 7 * 10**9
MODELS = (
    "tag",
    "tag-sequences",
    "dep-hashed",
    "dep-keys",
    "con",
    "rank-trees",
    "cluster",
    "weights",
    "checkpoint",
)


@pytest.mark.parametrize("name", SEEDS)
def test_texts_are_read_or_refused(name):
    assert judge_text.__module__ == "texts"
    began = time.process_time()
    outcomes = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(N_TEXTS):
            outcome = judge_text(name, number)
            assert not outcome.startswith("FAILED"), f"{name} {number}: {outcome}"
            outcomes[outcome] += 1
    assert outcomes["refused"] > N_TEXTS / 20
    assert time.process_time() - began < 20


def test_mutants_of_model_files(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subjects = list(make_subjects(tmp_path, MODELS))
        assert len(subjects) == len(MODELS)
        warm(subjects, tmp_path)
        fuzzer = Fuzzer(subjects, tmp_path, Limits(seconds=60, megabytes=1000), jobs=1)
        fuzzer.run(SEED, SEED + N_MUTANTS)
    assert not fuzzer.failures
    assert fuzzer.counts["refused"] > N_MUTANTS / 4 and fuzzer.counts["used"]


def test_the_fuzzer_sees_crashes_and_hangs(tmp_path, monkeypatch):
    """Subjects that die, sleep, or raise are counted, and the others go on."""
    outcomes = ["refused", "crash", "FAILED KeyError", "hang", "used", "end"]

    def judge(path, subject, number):
        outcome = outcomes[number]
        if outcome == "crash":
            os.kill(os.getpid(), signal.SIGTERM)
        if outcome == "end":
            os._exit(0)
        while outcome == "hang":
            pass
        return outcome

    monkeypatch.setattr(forked_runs, "judge", judge)
    subjects = [Subject("one", b"", None)]
    fuzzer = Fuzzer(subjects, tmp_path, Limits(seconds=1, megabytes=1000), jobs=1)
    fuzzer.run(0, 6)
    assert fuzzer.counts == {"refused": 1, "used": 1, "FAILED": 4}
    whats = [what for _, what in sorted(fuzzer.failures)]
    assert whats == [
        "one: SIGTERM", "one: KeyError", "one: more than 1 s", "one: no outcome"
    ]  # fmt: skip
