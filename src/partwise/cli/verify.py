"""`partwise verify`: recompute what a model file claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from partwise.cli.data_files import open_task, reads_files
from partwise.cli.options import Files, Jobs, Json, ModelPath, threads
from partwise.outputs.task import FileOptions

if TYPE_CHECKING:
    from partwise.certificate import Certificate
    from partwise.objective import Objective
    from partwise.outputs.task import Data, Task

TOLERANCE = 1e-6  # relative; another machine adds in another order


class Check(NamedTuple):
    """A claim of the file, and whether it holds."""

    name: str
    stated: float | None
    recomputed: float | None
    holds: bool
    how: str


@reads_files("label", "columns", "separator", "comment")
def verify(
    model: ModelPath,
    data: Files,
    *,
    files: FileOptions,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            metavar="",
            help="Compute the objective in plain Python as well; slow.",
        ),
    ] = False,
    jobs: Jobs = 1,
    json: Json = False,
) -> int:
    """Check a model's certificate against its training data.

    Recomputes the objective and the bound from the data alone, and with --keep-dual
    also the dual, from nothing but the file and the data. Exit code 1 when a claim
    does not hold.

    Example: `partwise verify chunks.model train.txt`
    """
    from partwise.cli.output import print_json, print_table

    trained, task = open_task(model, data, files)
    settings = settings_of(trained, model)
    if plain and settings["loss"] == "ramp":
        raise ValueError("--plain needs a model of another loss than ramp; drop it")
    if plain and not hasattr(trained, "plain_primal"):
        raise ValueError(f"--plain has no plain methods for {type(trained).__name__}")
    task.as_in_training(trained)
    examples = task.read(data, truth=True)
    checks = list(checks_of(task, trained, settings, examples, threads(jobs), plain))
    holds = all(check.holds for check in checks)
    if json:
        listed = {
            c.name: {k: v for k, v in c._asdict().items() if k != "name"}
            for c in checks
        }
        print_json({"holds": holds, "checks": listed})
        return 0 if holds else 1
    print_table(
        ("claim", "stated", "recomputed", "", ""),
        [
            (c.name, _figure(c.stated), _figure(c.recomputed),
             _verdict(c), c.how)
            for c in checks
        ],
    )  # fmt: skip
    print("verified" if holds else "not verified: model and data do not go together")
    return 0 if holds else 1


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.10g}"


def settings_of(model: Any, path: str) -> dict[str, Any]:
    """Settings of the training that a file states; refuses one that cannot be checked.

    `path` is for messages.
    """
    from partwise.model_file import ModelFileError

    settings = model.info.get("settings", {})
    C = settings.get("C")
    allowed = {
        "loss": ("hinge", "log", "ramp"),
        "formulation": ("margin", "slack", "hard"),
        "penalty": ("l1", "l2"),
    }
    primal = model.info.get("certificate", {}).get("primal")
    fits = isinstance(C, int | float) and isinstance(primal, int | float)
    fits = fits and type(settings.get("n_examples", 0)) is int
    for name, choices in allowed.items():
        fits = fits and settings.get(name) in choices
    if not fits:
        raise ModelFileError(
            f"{path}: does not say how it was trained; verify needs a file that "
            "`partwise train` or `save` wrote"
        )
    if settings.get("weighted"):
        raise ModelFileError(
            f"{path}: trained with weights of examples or tokens, which the file does "
            "not keep; verify it in Python with partwise.certificate.certify"
        )
    return settings


def checks_of(
    task: Task,
    model: Any,
    settings: dict[str, Any],
    data: Data,
    n_jobs: int,
    plain: bool,
) -> Iterator[Check]:
    """The claims of a model file, against the data that it was trained on.

    Parameters
    ----------
    task : Task
    model : WeightedModel
    settings : dict
        See `settings_of`.
    data : Data
    n_jobs : int
    plain : bool
        Whether the objective is also computed in plain Python.
    """
    from partwise.certificate import Certificate, certify
    from partwise.objective import Formulation, Objective
    from partwise.protocol import Latent, offers
    from partwise.scorers.anchors import ForeignData
    from partwise.structures.ramp import RampProblem

    stated = Certificate.from_dict(model.info["certificate"])
    n = settings.get("n_examples")
    if n is not None:
        counted = task.n_blocks(data)
        yield Check("examples", n, counted, n == counted, "counted")
    fault = task.foreign(model, data)
    if fault:
        yield Check("labels", None, None, False, fault)
        return
    formulation = Formulation(settings["formulation"], settings["penalty"])
    try:
        problem: Any = task.pack(model, data, formulation, n_jobs)
    except ForeignData as error:
        yield Check("data", None, None, False, str(error))
        return
    penalty = settings["penalty"]
    if settings["formulation"] == "hard":
        penalty = "hard"
    if settings["loss"] == "log":
        penalty = "log"
    objective = Objective.create(settings["C"], problem.n_blocks, penalty)
    weights = problem.expand(model.weights)
    packed = problem
    if settings["loss"] == "ramp":
        problem = RampProblem(packed)
    if offers(problem, Latent):
        problem.complete(weights)
    certificate = certify(problem, objective, weights)
    primal = certificate.primal
    claimed = float(model.info["certificate"]["primal"])
    holds = _near(claimed, primal, primal)
    yield Check("primal", claimed, primal, holds, "one pass over the data")
    if plain:
        plain_primal = task.plain_primal(model, data, settings, objective)
        holds = _near(stated.primal, plain_primal, plain_primal)
        yield Check("plain primal", stated.primal, plain_primal, holds, "plain Python")
    if stated.data_bound is not None:
        how = "½‖g‖² from the data alone"
        bound = certificate.data_bound
        holds = bound is not None and _at_most(bound, stated.data_bound, primal)
        yield Check("data bound", stated.data_bound, bound, holds, how)
    if stated.dual is None:
        return
    if model.support is not None and penalty != "log":
        yield from _dual_checks(
            task,
            model,
            data,
            packed,
            problem,
            objective,
            stated.dual,
            certificate,
        )
        return
    bound = certificate.data_bound
    lower = None if bound is None else certificate.at_least - bound
    if lower is not None and _at_most(stated.dual, lower, primal):
        yield Check("dual", stated.dual, lower, True, "follows from the data bound")
        return
    holds = _at_most(stated.dual, primal, primal)
    yield Check("dual", stated.dual, None, holds, "as stated by the solver")


def _dual_checks(
    task: Task,
    model: Any,
    data: Data,
    packed: Any,
    problem: Any,
    objective: Objective,
    stated: float,
    certificate: Certificate,
) -> Iterator[Check]:
    """Rebuild D(α) from the outputs and α of the planes, and nothing else of the file.

    Losses of outputs are those of the `packed` data, whatever `problem` compares with.
    """
    import numpy as np

    support = model.support
    rows = support.rows[support.cuts.block]
    lengths = np.diff(support.cuts.indptr)
    in_range = bool((rows < problem.n_blocks).all())
    if not in_range or not np.array_equal(np.diff(problem.indptr_of(rows)), lengths):
        yield Check("support", len(rows), None, False, "planes of other sentences")
        return
    cuts = support.cuts._replace(block=rows)
    losses, n_impossible = task.judge(model, data, packed, cuts, rows)
    b, scale = problem.formulation.planes(losses)
    # an output without loss has a plane with offset 0, which is a constraint like any
    # other (that of the truth is ξ ≥ 0), but not one of the hard margin
    n_forbidden = n_impossible
    if problem.formulation.rescaling == "hard":
        n_forbidden += int((losses <= 0).sum())
    alpha = support.alpha
    mass = np.bincount(rows, alpha, minlength=problem.n_blocks)
    smallest = float(alpha.min()) if len(alpha) else 0.0
    excess = float(np.max(mass / objective.cap())) if len(alpha) else 0.0
    yield Check("outputs", 0, n_forbidden, not n_forbidden, "all are possible")
    yield Check("smallest α", 0, smallest, smallest >= 0, "α ≥ 0")
    yield Check("largest S/c", 1, excess, excess <= 1 + TOLERANCE, "S ≤ c")
    # rounding may leave a mass a hair above its cap: scaled back, the bound is exact
    alpha = alpha / max(1.0, excess)
    w = problem.combine(cuts._replace(b=b, scale=scale), alpha)
    sums = [
        np.bincount(rows, values, minlength=problem.n_blocks).astype(np.float64)
        for values in (alpha * b, alpha)
    ]
    dual = objective.dual(problem.dot(w, w), sums[0], sums[1])
    weights = problem.expand(model.weights)
    distance = np.sqrt(problem.dot(w - weights, w - weights))
    norm = np.sqrt(problem.dot(weights, weights)) or 1.0
    how = f"D(α) of {len(rows):,} planes; ‖w − Σ α a‖ = {distance / norm:.1g} ‖w‖"
    holds = _at_most(stated, dual, certificate.primal)
    upper = certificate.at_most
    if upper is not None:  # a heuristic search may miss what the dual counts
        holds = holds and _at_most(stated, upper, upper)
    yield Check("dual", stated, dual, holds, how)


def _verdict(check: Check) -> str:
    if not check.holds:
        return "DOES NOT HOLD"
    return "stated" if check.recomputed is None else "holds"


def _near(stated: float, recomputed: float, scale: float) -> bool:
    import math

    if not math.isfinite(stated) or not math.isfinite(recomputed):
        return stated == recomputed
    return abs(stated - recomputed) <= TOLERANCE * max(abs(scale), 1e-300)


def _at_most(lower: float, upper: float, scale: float) -> bool:
    return lower <= upper + TOLERANCE * max(abs(scale), abs(upper), 1e-300)
