"""A server that runs reads its configuration again on SIGHUP, and lives on with a broken one."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.support.scripts import heard, write
from tests.support.served import REPOSITORY, Served, until


def test_hup_reads_it_again_and_a_broken_file_is_said(place: Path) -> None:
    with Served(place, [heard("your last turn", write())]) as served:
        served.start()
        assert served.server
        text = served.config_path.read_text("utf-8")
        served.config_path.write_text(text + "[policy]\nmerge = 'perhaps'\n", encoding="utf-8")
        served.server.send_signal(signal.SIGHUP)
        until(lambda: "config.kept" in served.log, "the broken file is said")
        served.config_path.write_text(text + "[roles.implementer]\nmax_turns = 1\n", encoding="utf-8")
        served.server.send_signal(signal.SIGHUP)
        until(lambda: "config.reloaded" in served.log, "the file is read")
        number = served.bob.open_issue(REPOSITORY, "Greet by name")
        served.until_state(f"issues/{number}", "failed")
        assert served.row("SELECT failure FROM sessions") == [("max_turns",)]
