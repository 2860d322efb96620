from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import process_table, supervision


@pytest.fixture
def child(place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose name looks like the rest of its line in proc(5)."""
    program = place / "x) Z 1 (y"
    shutil.copy(shutil.which("sleep") or "", program)
    with subprocess.Popen([program, "60"], env={"SAID": "a=b"}) as started:
        yield started
        started.kill()


def test_a_process_stands_below_its_parent_and_has_its_variables(child: subprocess.Popen[bytes]) -> None:
    assert process_table.standing(child.pid) == (os.getpid(), False)
    assert child.pid in process_table.pids() and child.pid in process_table.children(os.getpid())
    assert process_table.has_variable(child.pid, "SAID", "a=b")
    assert not process_table.has_variable(child.pid, "SAID", "a")


def test_one_that_nobody_awaited_has_ended_and_one_that_was_awaited_is_not_there(
    child: subprocess.Popen[bytes],
) -> None:
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    found = process_table.standing(child.pid)
    assert found and found.has_ended
    child.wait()
    assert process_table.standing(child.pid) is None and process_table.children(child.pid) == []


def test_children_are_found_where_the_kernel_does_not_list_them(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = process_table.read

    def without_lists(name: str) -> bytes:
        if name.endswith("/children"):
            raise FileNotFoundError(name)
        return read(name)

    monkeypatch.setattr(process_table, "read", without_lists)
    assert child.pid in process_table.children(os.getpid())


def test_a_supervisor_loads_nothing_that_is_slow_to_import() -> None:
    code = f"import sys; sys.path.append({str(supervision.LIBRARY)!r}); import harness.supervisor; print(*sys.modules)"
    words = [sys.executable, "-I", "-S", "-c", code]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert not {"dataclasses", "pathlib", "subprocess", "psutil"} & set(loaded)
    assert "harness.supervisor" in loaded
