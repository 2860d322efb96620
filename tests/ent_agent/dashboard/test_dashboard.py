"""The pages of the outer loop: what the state folder has, escaped, redacted, for those who may look."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest

from ent_agent.config import Config, load
from ent_agent.dashboard import app, seen
from ent_agent.records import Record
from ent_agent.repositories import syncing
from ent_agent.running import workplace
from ent_agent.running.runs import Run
from ent_agent.status import status
from tests.support import browser, past
from tests.support.sample import WELSH

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = "<script>document.title='owned'</script>\u202e"
TOKEN = "a-token-of-this-start"


@pytest.fixture
def config(config_file: Path) -> Config:
    return load(str(config_file))


def ask(
    config: Config, path: str, token: str = "", client: str = "127.0.0.1", **headers: str
) -> httpx2.Response:
    async def go() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=app.make(config, token), client=(client, 50000))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8090") as one:
            return await one.get(path, headers=headers)

    return asyncio.run(go())


def worked(config: Config, output: bytes = b"one\n") -> Run:
    past.run(config, WELSH, outcome="completed")
    return past.run(config, WELSH, output, outcome="stuck", reason=HOSTILE, handed_to="alice")


class Numbers(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, float] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "data":
            self.found[given["data-name"] or ""] = float(given["value"] or "nan")


def test_the_numbers_are_those_of_the_status(config: Config) -> None:
    syncing.sync(Record(), config)
    run = worked(config)
    page = ask(config, "/")
    found, numbers = status.gather(config, 100), Numbers(page.text).found
    assert page.status_code == 200 and len(found.tasks) > 2
    assert numbers["ready"] == sum(task.ready for task in found.tasks) > 0
    assert numbers["passed over"] == sum(not task.ready for task in found.tasks) > 0
    assert (numbers["people"], numbers["runs"]) == (len(found.waiting), 2)
    assert (numbers["cost"], numbers[f"cost {run.id}"]) == (0.25, 0.125)
    assert (numbers["tokens in"], numbers["tokens out"]) == (24000, 680)


def test_before_the_first_sync_there_is_a_page_too(config: Config) -> None:
    page = ask(config, "/")
    assert "never synced" in page.text and "nothing open is assigned" in page.text


def test_a_run_is_shown_escaped_redacted_and_from_its_end(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-value-123456")
    run = worked(
        config,
        b"first line\n" + b"x" * 300_000 + f"\n{HOSTILE} sk-very-secret-value-123456 \x1b[2J last\n".encode(),
    )
    workplace.folder(config, run).stderr.write_bytes(b"\xff warning")
    page = ask(config, f"/runs/{run.id}")
    assert page.status_code == 200
    assert "&lt;script&gt;" in page.text and "<script>" not in page.text
    assert "very-secret" not in page.text and "[redacted]" in page.text
    assert "last" in page.text and "first line" not in page.text and "are left out" in page.text
    assert "\x1b" not in page.text and "\u202e" not in page.text and "warning" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.parametrize("name", ["0" * 16, "..%2f..%2fconfig", "a.b"])
def test_a_run_that_is_none_is_not_found(config: Config, name: str) -> None:
    assert ask(config, f"/runs/{name}").status_code == 404


def test_only_who_may_look_does(config: Config) -> None:
    assert ask(config, "/", client="192.0.2.7").status_code == 403
    assert ask(config, "/", TOKEN).status_code == 401
    led = ask(config, "/runs/x", TOKEN, accept="text/html")
    assert (led.status_code, led.headers["location"]) == (303, "/login?next=/runs/x")
    assert ask(config, "/", TOKEN, client="192.0.2.7", authorization=f"Bearer {TOKEN}").status_code == 200


def test_costs_stand_at_the_day_on_which_their_runs_began(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(config)
    monkeypatch.setattr(seen, "DAYS", 40_000)
    costs = {day: cost for day, cost in seen.overview(config).days if cost}
    assert costs == {"2026-01-02": 0.25}


def serving(config: Config, *options: str) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "-m",
        "invoke",
        "-r",
        str(ROOT),
        "dashboard",
        "--port",
        "0",
        "--config",
        str(config.path),
        *options,
    ]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, start_new_session=True
    )


def test_the_task_says_where_it_is_and_ends_when_told(config: Config) -> None:
    server = serving(config)
    try:
        assert server.stdout
        url = server.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert answer.status == 200
        server.send_signal(signal.SIGINT)
        server.wait(20)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(20)


@pytest.mark.skipif(not browser.program(), reason="there is no Chromium (apt install chromium)")
def test_on_an_address_for_others_a_browser_gets_in_by_the_link_alone(config: Config, place: Path) -> None:
    syncing.sync(Record(), config)
    run = worked(config)
    server = serving(config, "--host", "0.0.0.0")
    try:
        assert server.stdout
        link = server.stdout.readline().strip().replace("0.0.0.0", "127.0.0.1")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/login#token=[\w-]{32}", link)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(link.partition("login")[0], timeout=20)
        with browser.started(place) as tab:
            tab.open(link, browser.PHONE)
            tab.until("location.pathname === '/' && document.querySelector('#tasks') !== null")
            assert tab.get("document.documentElement.scrollWidth") <= browser.PHONE[0]
            tab.open(f"{link.partition('login')[0]}runs/{run.id}", browser.PHONE, dark=True)
            assert "owned" not in str(tab.get("document.title")) and "one" in tab.text("main")
            assert tab.problems == []
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(20)
