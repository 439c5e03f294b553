"""`partwise compile`: prepare compiled code, so that no later command waits for it."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from partwise.cli.options import Json


def compile_tasks(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TASK",
            help="What to prepare, as in tag; everything by default.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Processes; -1 uses all cores.")
    ] = -1,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", metavar="", help="List the slowest functions of each part."
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Compile what tasks need, on all cores, for all later commands and programs.

    Without it each command compiles what it meets first. What is compiled is kept in
    the user's cache folder, or in that of NUMBA_CACHE_DIR, until Partwise, numba or
    Python changes.

    Example: `partwise compile tag depparse`
    """
    from partwise.cli.options import threads
    from partwise.cli.output import print_json, say
    from partwise.jit import cache_folder, user_cache
    from partwise.testing.warm import compile_jobs, jobs_of

    n_processes = threads(jobs)
    names = jobs_of(tasks or ())
    folder = cache_folder()
    if user_cache() not in folder.parents:
        raise OSError(0, "compiled code cannot be kept there", str(user_cache()))
    began = time.perf_counter()
    n_functions, done = 0, []
    with _Bar(len(names)) as bar:
        for compiled in compile_jobs(names, n_processes):
            n_functions += compiled.functions
            done.append(compiled.job)
            bar.advance(compiled)
            for seconds, function in compiled.slowest if verbose else ():
                say(f"    {seconds:6.1f} s  {function}")
    seconds = time.perf_counter() - began
    if json:
        print_json(
            {
                "jobs": done,
                "n_functions": n_functions,
                "seconds": seconds,
                "folder": str(folder),
            }
        )
    elif n_functions:
        say(f"{n_functions:,} functions compiled in {seconds:.0f} s, kept in {folder}")
    else:
        say(f"everything had been compiled, and is in {folder}")
    return 0


class _Bar:
    """Progress on a terminal; elsewhere a line for each part."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.bar: Any = None

    def __enter__(self) -> _Bar:
        if sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self.bar = Progress(
                TextColumn("compiling"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[name]}", markup=False),
                console=Console(stderr=True),
            )
            self.bar.add_task("compiling", total=self.total, name="")
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, compiled: Any) -> None:
        """A part is ready."""
        from partwise.cli.output import say

        if self.bar is not None:
            self.bar.update(0, advance=1, name=compiled.job)
        else:
            say(
                f"{compiled.job}: {compiled.functions} functions, "
                f"{compiled.seconds:.1f} s of the processor"
            )
