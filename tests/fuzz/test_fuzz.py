"""A short seeded run of the fuzzers; `benchmarks/fuzz.py` is the long one."""

import os
import signal
import time
import warnings
from collections import Counter

import array_walk
import forked_runs
import pytest
from forked_runs import Fuzzer, Limits, warm
from model_subjects import Subject, make_subjects
from texts import SEEDS, judge_text

import frozen
from partwise.model_file import load_model, model_kind
from partwise.outputs.registry import file_modules

N_TEXTS = 400
N_MUTANTS = 8  # of each file
SEED = 7 * 10**9
FEW = ("tag", "checkpoint")
WITH_DUAL = ("tag", "tag-sequences", "dep-keys", "con", "classes", "checkpoint")


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


def judge_mutants(subjects, folder):
    """Some mutants of each file."""
    warm(subjects, folder)
    n = N_MUTANTS * len(subjects)
    fuzzer = Fuzzer(subjects, folder, Limits(seconds=60, megabytes=1000), jobs=1)
    fuzzer.run(SEED, SEED + n)
    assert not fuzzer.failures
    assert fuzzer.counts["refused"] > n / 4 and fuzzer.counts["used"]


@pytest.mark.filterwarnings("ignore")
def test_mutants_of_a_few_files(tmp_path):
    """Also run with bounds checks (scripts/test), which compile these kernels alone."""
    subjects = list(make_subjects(tmp_path, FEW))
    assert len(subjects) == len(FEW)
    judge_mutants(subjects, tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_mutants_of_all_kinds_of_files(tmp_path):
    """Of all frozen files, and of files with support structures."""
    frozen.write_data(tmp_path, "new", 3, 1)
    subjects = list(array_walk.frozen_files(tmp_path))
    judge_mutants(subjects, tmp_path)
    kinds = {
        model_kind(load_model(frozen.FOLDER / f"{s.name}.model")) for s in subjects
    }
    assert kinds == {kind.partition(".")[0] for kind in file_modules()}
    subjects = list(make_subjects(tmp_path, WITH_DUAL))
    assert len(subjects) == len(WITH_DUAL)
    judge_mutants(subjects, tmp_path)


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
