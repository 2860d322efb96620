"""`invoke forge-demo` shows what it promises, and leaves nothing running."""

from __future__ import annotations

import psutil
import pytest

from tests.support import forge_demo


def test_the_demo_comes_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    others = psutil.Process().children(recursive=True)
    assert forge_demo.run() == 0
    said = capsys.readouterr().out
    for part in (
        "bob opens an issue",
        "issue #1 is labelled in_progress",
        "pull request #2 by fordjent",
        "issue #1 is labelled review",
        "asks for a change",
        'Hello, {name}!" if name else',
        "exit code 0",
    ):
        assert part in said, said
    started = set(psutil.Process().children(recursive=True)) - set(others)
    _, alive = psutil.wait_procs(started, timeout=10)  # a zombie counts as ended
    assert alive == []
