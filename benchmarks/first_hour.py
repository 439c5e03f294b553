"""What a newcomer waits for: first fits of small models, compiled or from a cache.

    python benchmarks/first_hour.py [--source now=src --source before=OTHER/src]
        [--only tagger] [--sentences 20]

Each estimator is fitted to a few toy sentences in a process of its own: once with an
empty cache of numba (cold) and once more with the cache that the first process has
filled (warm). Seconds include the start of Python and all imports; CPU seconds are
those of the process with all its threads. The table is Markdown. Several `--source`
folders, each set as PYTHONPATH, are measured by turns, so that a machine that grows
slower meanwhile does so for all of them.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

FITS = {
    "tagger": """
from partwise import SequenceTagger
from partwise.datasets import toy_entities
X, y = toy_entities({n})
SequenceTagger().fit(X, y)
""",
    "parser": """
from partwise import DependencyParser
from partwise.datasets import toy_dependencies
DependencyParser().fit(*toy_dependencies({n}))
""",
    "second order": """
from partwise import DependencyParser
from partwise.datasets import toy_dependencies
DependencyParser(order=2).fit(*toy_dependencies({n}))
""",
    "kernel tagger": """
from partwise import SequenceTagger
from partwise.datasets import toy_entities
SequenceTagger(kernel="linear").fit(*toy_entities({n}))
""",
    "grammar": """
from partwise import ConstituencyParser
from partwise.datasets import toy_treebank
ConstituencyParser().fit(*toy_treebank({n}))
""",
}


def seconds_of(script, source, cache):
    """CPU and wall seconds of a new process that runs the script."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
    if source:
        environment["PYTHONPATH"] = source
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu, wall


def measure(script, source):
    """CPU and wall seconds of a first fit with an empty and with a filled cache."""
    with tempfile.TemporaryDirectory() as cache:
        return [seconds_of(script, source, cache) for _ in ("cold", "warm")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", action="append", default=[], metavar="LABEL=DIR")
    parser.add_argument("--only", action="append", choices=FITS)
    parser.add_argument("--sentences", type=int, default=20)
    options = parser.parse_args()
    sources = [source.partition("=")[::2] for source in options.source] or [("", "")]
    print(
        "| first fit | source | cold CPU s | cold wall s | warm CPU s | warm wall s |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for name in options.only or FITS:
        script = FITS[name].format(n=options.sentences)
        for label, path in sources:
            (cpu, wall), (warm_cpu, warm_wall) = measure(script, path)
            print(
                f"| {name} | {label} | {cpu:.1f} | {wall:.1f} | {warm_cpu:.1f} "
                f"| {warm_wall:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
