"""`partwise fetch`: public corpora by name."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from partwise.cli.options import Json


def fetch(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Corpus; leave it out to see the list.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Where to keep it; the user's cache by default."
        ),
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="Address that serves the files.")
    ] = None,
    allow_unverified: Annotated[
        bool,
        typer.Option(
            "--allow-unverified",
            metavar="",
            help="Take files whose checksum nobody knows.",
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Download a public corpus, check it, and tell its licence.

    Example: `partwise fetch ud_english_ewt`
    """
    from partwise.cli.output import print_json, print_table, say
    from partwise.datasets.download import fetch as download
    from partwise.datasets.registry import CORPORA

    if name is None:
        corpora = {corpus.name: corpus.description for corpus in CORPORA.values()}
        if json:
            print_json({"corpora": corpora})
        else:
            print_table(("corpus", "what"), corpora.items())
        return 0
    fetched = download(
        name,
        cache_dir=folder,
        base_url=mirror,
        progress=sys.stderr.isatty(),
        allow_unverified=allow_unverified,
    )
    if json:
        print_json(
            {
                "name": fetched.name,
                "folder": str(fetched.folder),
                "files": {key: str(path) for key, path in fetched.files.items()},
                "licence": fetched.licence,
                "citation": fetched.citation,
            }
        )
        return 0
    for path in fetched.files.values():
        print(path)
    say(f"licence: {fetched.licence}")
    say(f"cite: {fetched.citation}")
    return 0
