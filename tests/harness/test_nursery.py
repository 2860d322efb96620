"""Commands as forks: each is what it would be on its own, and nothing outlives who wanted it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from harness.nursery import Child, Nursery

LIB = Path(__file__).resolve().parents[2] / "lib"
PARENT = "TEST_PARENT"


@pytest.fixture
def nursery(place: Path) -> Iterator[Nursery]:
    nursery = Nursery(["json"])
    yield nursery
    nursery.close()


def start(nursery: Nursery, place: Path, code: str, *words: str, stdin: bytes = b"") -> Child:
    program = place / f"prögram {hash(code)}"
    if not program.exists():
        program.write_text(code, "utf-8")
    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        return nursery.start([str(program), *words], file, PARENT)


def ran(child: Child) -> tuple[int, str, str]:
    out, err = child.stdout.read(), child.stderr.read()
    return child.wait(), out.decode(), err.decode()


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def line(child: Child) -> str:
    return child.stdout.readline().decode().strip()


def test_later_children_have_what_was_loaded_meanwhile(nursery: Nursery, place: Path) -> None:
    code = "import sys; print('wave' in sys.modules)"
    assert ran(start(nursery, place, code))[1] == "False\n"
    nursery.load(["wave"])
    assert ran(start(nursery, place, code))[1] == "True\n"


def test_a_child_has_its_own_words_streams_session_and_environment(nursery: Nursery, place: Path) -> None:
    code = (
        "import json, os, sys\n"
        "print(json.dumps([__name__, sys.argv[1:], sys.stdin.read(), os.getsid(0) == os.getpid(), sys.path[0],\n"
        "      os.environ['TEST_PARENT'] == str(os.getppid()), sorted(os.listdir('/proc/self/fd'))[:4]]))\n"
        "print('said', file=sys.stderr)\n"
    )
    exit_code, out, err = ran(start(nursery, place, code, "--a", "b é", stdin=b"in\n"))
    assert (exit_code, err) == (0, "said\n")
    assert json.loads(out) == [
        "__main__",
        ["--a", "b é"],
        "in\n",
        True,
        str(place),
        True,
        ["0", "1", "2", "3"],
    ]


def test_what_a_child_does_stays_with_it(nursery: Nursery, place: Path) -> None:
    code = "import os, sys, json\nprint(hasattr(json, 'planted'), 'PLANTED' in os.environ, os.getcwd())\n"
    planting = code + "json.planted = True\nos.environ['PLANTED'] = '1'\nos.chdir('/')\n"
    first = ran(start(nursery, place, planting))
    assert ran(start(nursery, place, code)) == first == (0, f"False False {Path.cwd()}\n", "")


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        ("", 0, ""),
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit(75)", 75, ""),
        ("import sys; sys.exit('no')", 1, "no"),
        ("import os; os._exit(3)", 3, ""),
        ("raise ValueError('a bug')", 1, "ValueError: a bug"),
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
        ("syntax error", 1, "SyntaxError"),
    ],
)
def test_it_ends_as_a_program_does(
    nursery: Nursery, place: Path, code: str, exit_code: int, said: str
) -> None:
    ended, _, err = ran(start(nursery, place, code))
    assert ended == exit_code
    assert said in err


def test_a_signal_reaches_the_child_and_none_what_has_ended(nursery: Nursery, place: Path) -> None:
    code = "import sys, time\nprint('up', flush=True)\ntime.sleep(60)\n"
    child = start(nursery, place, code)
    assert line(child) == "up"
    child.send_signal(signal.SIGTERM)
    assert child.wait() == -signal.SIGTERM
    child.send_signal(signal.SIGTERM)


def test_what_a_child_leaves_in_its_group_ends_with_it(nursery: Nursery, place: Path) -> None:
    code = "import subprocess\nprint(subprocess.Popen(['sleep', '60']).pid, flush=True)\n"
    child = start(nursery, place, code)
    left = int(line(child))
    assert child.wait() == 0
    assert gone(left)


def test_many_at_once_are_not_mixed_up(nursery: Nursery, place: Path) -> None:
    code = "import sys, time\ntime.sleep(int(sys.argv[1]) % 3 / 20)\nprint(sys.argv[1])\nsys.exit(int(sys.argv[1]))\n"
    ran(start(nursery, place, code, "0"))
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda n: ran(start(nursery, place, code, str(n))), range(24)))
    assert found == [(number, f"{number}\n", "") for number in range(24)]


def test_children_are_told_when_the_nursery_is_killed(place: Path) -> None:
    nursery = Nursery([])
    code = (
        f"import sys\nsys.path.insert(0, {str(LIB)!r})\nimport os, time\nfrom harness.process import die_with_parent\n"
        "die_with_parent(int(os.environ['TEST_PARENT']))\nprint(os.getpid(), os.getppid(), flush=True)\ntime.sleep(60)\n"
    )
    child = start(nursery, place, code)
    pid, nursery_pid = map(int, line(child).split())
    assert nursery.is_alive
    os.kill(nursery_pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert gone(pid) and not nursery.is_alive
    with pytest.raises(OSError):
        start(nursery, place, code)
    nursery.close()


def test_the_nursery_ends_with_who_wanted_it(place: Path) -> None:
    (place / "program").write_text("import os, time\nprint(os.getppid(), flush=True)\ntime.sleep(60)\n")
    code = (
        f"import sys\nsys.path.insert(0, {str(LIB)!r})\nfrom harness.nursery import Nursery\n"
        "child = Nursery([]).start(['program'], open('/dev/null', 'rb'), 'X')\n"
        "print(child.stdout.readline().decode(), flush=True)\nchild.wait()\n"
    )
    wanting = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert wanting.stdout
    nursery_pid = int(wanting.stdout.readline())
    wanting.kill()
    wanting.communicate()
    assert gone(nursery_pid)


def test_a_child_is_hidden_from_other_processes_of_its_user(nursery: Nursery, place: Path) -> None:
    child = start(nursery, place, "import ctypes\nprint(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n")
    assert ran(child)[:2] == (0, "0\n")  # PR_GET_DUMPABLE
