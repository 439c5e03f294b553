"""Download public corpora into a cache, and check what arrived."""

import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

from partwise.datasets._progress import Bar, Deadline
from partwise.datasets.registry import RemoteFile, corpus

CACHE_VARIABLE = "PARTWISE_DATA_CACHE"
_TIMEOUT = 30  # seconds without an answer
_CHUNK = 1 << 10  # bytes between two looks at the clock


class FetchError(ValueError):
    """A corpus could not be had, or is not what was expected."""


@dataclass(frozen=True)
class Fetched:
    """A corpus on this machine.

    Parameters
    ----------
    name : str
        Name of the corpus.
    folder : Path
        Folder that holds the files.
    files : dict of str to Path
        Path of each file, in the order of the registry.
    licence : str
        What the owners of the corpus allow.
    citation : str
        What to cite.
    """

    name: str
    folder: Path
    files: dict[str, Path]
    licence: str
    citation: str


def fetch(
    name: str,
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    progress: bool = False,
    allow_unverified: bool = False,
    time_limit: float = 3600.0,
) -> Fetched:
    """Download a public corpus, unless it is in the cache, and verify its files.

    Parameters
    ----------
    name : str
        A key of `CORPORA`.
    cache_dir : path, optional
        Folder for the downloads; by default the one named by the environment
        variable PARTWISE_DATA_CACHE, else the user's cache folder.
    base_url : str, optional
        Address of a mirror that serves the same files.
    progress : bool, default=False
        Show a progress bar on standard error.
    allow_unverified : bool, default=False
        Accept files whose checksum the registry does not know; their SHA-256 is
        given in a warning.
    time_limit : float, default=3600.0
        Seconds that one file may take.

    Returns
    -------
    Fetched
        Paths of the files, the licence and the citation.

    Raises
    ------
    ValueError
        The name is unknown.
    FetchError
        The server cannot be reached, a file is not the one expected, or it cannot
        be verified. A failed download leaves no file behind.

    Examples
    --------
    >>> fetched = fetch("gap_pronouns")  # doctest: +SKIP
    >>> fetched.files["gap-test.tsv"]  # doctest: +SKIP
    PosixPath('/home/ann/.cache/partwise/gap_pronouns/gap-test.tsv')
    """
    wanted = corpus(name)
    unknown = [file.name for file in wanted.files if file.sha256 is None]
    if unknown and not allow_unverified:
        raise FetchError(
            f"{name}: no checksum is known for {', '.join(unknown)}, so the download "
            "cannot be verified; pass allow_unverified=True to take it as it comes"
        )
    folder = _cache_folder(cache_dir) / name
    url = (base_url or wanted.url).rstrip("/")
    files = {}
    for file in wanted.files:
        path = folder / file.name
        bar = Deadline(time_limit, Bar(file.name) if progress else None)
        _download(wanted.name, file, f"{url}/{file.name}", path, bar)
        files[file.name] = path
        if file.sha256 is None:
            warnings.warn(
                f"{path} is NOT VERIFIED: the registry knows no checksum for it. "
                f"Its SHA-256 is {hashlib.sha256(path.read_bytes()).hexdigest()}",
                stacklevel=2,
            )
    return Fetched(name, folder, files, wanted.licence, wanted.citation)


def _cache_folder(cache_dir: str | os.PathLike[str] | None) -> Path:
    import pooch

    chosen = cache_dir or os.environ.get(CACHE_VARIABLE) or pooch.os_cache("partwise")
    return Path(chosen).expanduser()


def _download(name: str, file: RemoteFile, url: str, path: Path, bar: Deadline) -> None:
    import pooch
    import requests

    fetcher = pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK, timeout=_TIMEOUT)
    try:
        # pooch writes beside the target and moves the file only when it is verified.
        pooch.retrieve(
            url,
            known_hash=file.sha256 and f"sha256:{file.sha256}",
            fname=path.name,
            path=path.parent,
            downloader=fetcher,
        )
    except requests.RequestException as error:
        raise FetchError(
            f"{name}: could not download {url} ({error}); check the network, "
            f"give a mirror with base_url, or put the file at {path} yourself"
        ) from error
    except OSError as error:
        raise FetchError(
            f"{name}: could not write {path} ({error}); choose another folder "
            f"with cache_dir or {CACHE_VARIABLE}"
        ) from error
    except ValueError as error:
        raise FetchError(
            f"{name}: {url} is not the file expected, whose SHA-256 is "
            f"{file.sha256}; it was thrown away. Fetch again, and if that does not "
            "help, the file has changed or was damaged on the way"
        ) from error
    finally:
        bar.close()
