"""A server that runs reads its configuration again on SIGHUP, and lives on with a broken one."""

from __future__ import annotations

import signal
import urllib.error
import urllib.request
from contextlib import suppress
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


def test_a_secret_that_came_with_a_reload_is_in_no_line_of_the_log(place: Path) -> None:
    secret = "a-rotated-key-of-the-other"
    with Served(place, []) as served:
        served.start()
        assert served.server
        text = served.config_path.read_text("utf-8")
        other = (
            f'[providers.{secret}]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\napi_key = "{secret}"\n'
        )
        served.config_path.write_text(text + other, encoding="utf-8")
        served.server.send_signal(signal.SIGHUP)
        until(lambda: "config.reloaded" in served.log, "the file is read")
        served.config_path.write_text(text + f"[policy]\nmerge = '{secret}'\n", encoding="utf-8")
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"{served.url}/acp/v1/events?{secret}", data=secret.encode(), timeout=10)
        served.server.send_signal(signal.SIGHUP)
        until(lambda: "config.kept" in served.log, "the broken file is said")
        assert secret not in served.log
