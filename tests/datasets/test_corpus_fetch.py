import contextlib
import hashlib
import re
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from partwise.datasets import CORPORA, Corpus, FetchError, RemoteFile, corpus, fetch
from partwise.datasets import registry as registry_module

CONTENT = {"train.txt": b"the DT\n", "test.txt": b"a DT\n"}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        self.server.requested.append(self.path)


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "served"
    folder.mkdir()
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.requested = []
        server.folder = folder
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def tiny(monkeypatch):
    """Register a corpus of two files, the second with the checksum asked for."""

    def register(test_sha256):
        files = (
            RemoteFile("train.txt", hashlib.sha256(CONTENT["train.txt"]).hexdigest()),
            RemoteFile("test.txt", test_sha256),
        )
        entry = Corpus("tiny", "two lines", "http://[::1]:9", "Free.", "Us.", files)
        monkeypatch.setitem(registry_module.CORPORA, "tiny", entry)

    register(hashlib.sha256(CONTENT["test.txt"]).hexdigest())
    return register


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def files_in(cache):
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def test_a_good_download_gives_paths_licence_and_citation(server, tiny, cache):
    fetched = fetch("tiny", cache_dir=cache, base_url=server.url + "/")
    assert {name: path.read_bytes() for name, path in fetched.files.items()} == CONTENT
    assert fetched.folder == cache / "tiny"
    assert (fetched.licence, fetched.citation) == ("Free.", "Us.")
    assert files_in(cache) == ["test.txt", "train.txt"]


def test_a_download_has_a_total_time_limit(server, tiny, cache, monkeypatch):
    """A server that sends something now and then never runs into other limits."""

    def trickle(handler):
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):  # until the other side hangs up
            for _ in range(1000):
                handler.wfile.write(bytes(1024))
                time.sleep(0.02)

    monkeypatch.setattr(QuietHandler, "do_GET", trickle)
    with pytest.raises(FetchError, match=r"not complete after 0\.2 seconds"):
        fetch("tiny", cache_dir=cache, base_url=server.url, time_limit=0.2)
    assert files_in(cache) == []


def test_cached_files_are_not_asked_for_again(server, tiny, cache):
    fetch("tiny", cache_dir=cache, base_url=server.url)
    n_requests = len(server.requested)
    again = fetch("tiny", cache_dir=cache, base_url="http://127.0.0.1:9")
    assert len(server.requested) == n_requests == 2
    assert again.files["test.txt"].read_bytes() == CONTENT["test.txt"]


def test_a_damaged_cached_file_is_fetched_anew(server, tiny, cache):
    path = fetch("tiny", cache_dir=cache, base_url=server.url).files["test.txt"]
    path.write_bytes(b"damaged")
    fetch("tiny", cache_dir=cache, base_url=server.url)
    assert path.read_bytes() == CONTENT["test.txt"]


def test_the_environment_chooses_the_cache(server, tiny, cache, monkeypatch):
    monkeypatch.setenv("PARTWISE_DATA_CACHE", str(cache))
    assert fetch("tiny", base_url=server.url).folder == cache / "tiny"


def test_a_wrong_checksum_is_refused_and_leaves_nothing(server, tiny, cache):
    tiny("0" * 64)
    with pytest.raises(FetchError, match=r"test\.txt is not the file expected.* 0{64}"):
        fetch("tiny", cache_dir=cache, base_url=server.url)
    assert files_in(cache) == ["train.txt"]


def test_a_missing_file_names_the_address_and_the_remedy(server, tiny, cache):
    (server.folder / "test.txt").unlink()
    url = re.escape(f"{server.url}/test.txt")
    with pytest.raises(FetchError, match=rf"{url} \(404.*base_url"):
        fetch("tiny", cache_dir=cache, base_url=server.url)
    assert files_in(cache) == ["train.txt"]


def test_an_unreachable_server_names_the_address_and_the_remedy(tiny, cache):
    with socket.socket() as subset:
        # Bound but not listening: connections are refused, and nobody takes the port.
        subset.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{subset.getsockname()[1]}"
        with pytest.raises(FetchError, match=rf"{url}/train\.txt .*check the network"):
            fetch("tiny", cache_dir=cache, base_url=url)
    assert files_in(cache) == []


def test_a_cache_that_cannot_be_written_is_said_so(server, tiny, cache):
    cache.write_text("a file, not a folder")
    with pytest.raises(FetchError, match=r"could not write.*cache_dir"):
        fetch("tiny", cache_dir=cache, base_url=server.url)


def test_files_without_a_checksum_are_refused_before_any_download(server, tiny, cache):
    tiny(None)
    with pytest.raises(FetchError, match=r"no checksum is known for test\.txt"):
        fetch("tiny", cache_dir=cache, base_url=server.url)
    assert server.requested == []


def test_an_unverified_file_is_announced_with_its_sum(server, tiny, cache):
    tiny(None)
    actual = hashlib.sha256(CONTENT["test.txt"]).hexdigest()
    with pytest.warns(UserWarning, match=rf"test\.txt is NOT VERIFIED.*{actual}"):
        fetched = fetch(
            "tiny", cache_dir=cache, base_url=server.url, allow_unverified=True
        )
    assert fetched.files["test.txt"].read_bytes() == CONTENT["test.txt"]


def test_progress_is_shown_on_standard_error(server, tiny, cache, capsys):
    fetch("tiny", cache_dir=cache, base_url=server.url, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "train.txt" in shown.err
    assert "100%" in shown.err


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean 'ud_english_ewt'\?") as error:
        fetch("ud_english")
    assert all(name in str(error.value) for name in CORPORA)


@pytest.mark.parametrize("name", CORPORA)
def test_registered_corpora_say_what_they_must(name):
    entry = corpus(name)
    assert entry.name == name
    assert entry.description
    assert entry.citation
    assert entry.licence.endswith(".")
    sums = [file.sha256 for file in entry.files]
    assert sums
    assert all(s is None or re.fullmatch("[0-9a-f]{64}", s) for s in sums)
    # A verified file must come from an address whose content cannot change.
    assert None in sums or re.search("/[0-9a-f]{40}$", entry.url)


def test_import_is_light():
    code = (
        "import sys, partwise.datasets as d; d.toy_entities(1);"
        "heavy = {'sklearn', 'pooch', 'requests', 'rich'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
