"""Files are written whole: links, pipes, devices, drafts of killed processes."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from partwise import files
from partwise.files import write_atomically
from partwise.model_file import ModelFileError, load_model, refuse_unwritable


def test_a_link_stays_and_its_file_changes(tmp_path):
    real = tmp_path / "folder" / "real"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink() and real.read_bytes() == b"new"
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "folder" / "absent")
    write_atomically(dangling, b"made")
    assert dangling.is_symlink() and dangling.read_bytes() == b"made"
    assert sorted(os.listdir(real.parent)) == ["absent", "real"]


def test_a_pipe_is_written_through(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refuse_unwritable(pipe)
    actual = []
    reader = threading.Thread(target=lambda: actual.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"text")
    reader.join()
    assert actual == [b"text"] and pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]


def test_a_device_is_written_through(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    write_atomically(link, b"text")
    refuse_unwritable(link)
    assert link.is_symlink() and os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")
    with pytest.raises(OSError, match="No space"):
        write_atomically("/dev/full", b"text")


def test_a_pipe_without_a_name_is_written_through():
    reader, writer = os.pipe()
    write_atomically(f"/dev/fd/{writer}", b"abc")
    os.close(writer)
    with open(reader, "rb") as end:
        assert end.read() == b"abc"


def test_a_model_is_not_read_from_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ModelFileError, match="a pipe; copy the model to a file"):
        load_model(pipe)
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model("/dev/zero")


KILLED = """
import os, signal, sys
from partwise.files import replacing
with replacing(sys.argv[1]) as draft:
    draft.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_drafts_of_killed_writes_go_with_the_next_one(tmp_path):
    place = tmp_path / "m"
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", KILLED, place], check=False)
        assert done.returncode == -signal.SIGKILL
    left = [name for name in os.listdir(tmp_path) if name.endswith(".part")]
    assert left
    other = tmp_path / ".other.1.ab.part"
    other.touch()
    write_atomically(place, b"whole")
    assert sorted(os.listdir(tmp_path)) == [".other.1.ab.part", "m"]


def test_a_draft_that_is_being_written_stays(tmp_path):
    place = tmp_path / "m"
    with files.replacing(place) as draft:
        draft.write_bytes(b"last")
        write_atomically(place, b"first")
        assert draft.exists()
    assert place.read_bytes() == b"last" and os.listdir(tmp_path) == ["m"]


def test_the_folder_is_synced_after_the_move(tmp_path, monkeypatch):
    calls = []
    replace, fsync = os.replace, os.fsync

    def note_replace(*names):
        calls.append("replace")
        replace(*names)

    def note_fsync(descriptor):
        is_folder = os.path.isdir(f"/proc/self/fd/{descriptor}")
        calls.append("folder" if is_folder else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "replace", note_replace)
    monkeypatch.setattr(os, "fsync", note_fsync)
    write_atomically(tmp_path / "m", b"text")
    assert calls == ["file", "replace", "folder"]
