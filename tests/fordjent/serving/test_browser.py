"""The pages in a real browser: they say what they should, refuse what they should, and are live."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert

from fordjent import config as configuration
from fordjent.store import pausing
from fordjent.store.database import Database
from fordjent.store.schema import transitions
from tests.support import browser, busy_state, server
from tests.support.browser import DESKTOP, PHONE, Browser
from tests.support.busy_state import KEY, REPOSITORY
from tests.support.server import Server

pytestmark = pytest.mark.skipif(not browser.program(), reason="there is no Chromium (apt install chromium)")
TOKEN = "a-long-admin-token"
PAGES = ["/admin", "/sessions", "/activity", f"/trace/{KEY}", f"/trace/{REPOSITORY}/issues/3/changes/run3"]


class Site:
    """A server with a filled database, and a browser that is logged in there."""

    def __init__(self, folder: Path, one: Server, tab: Browser) -> None:
        self.url, self.tab = one.url, tab
        self.database = configuration.load(str(folder / "config.toml")).database_url

    def write(self, function: object, *arguments: object) -> None:
        database = Database.open(self.database)
        try:
            database.submit(function, *arguments).result(20)  # type: ignore[arg-type]
        finally:
            database.close()

    def look(self, function: object) -> object:
        database = Database.open(self.database)
        try:
            return database.look(function)  # type: ignore[arg-type]
        finally:
            database.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("a browser")
    config = server.write_config(folder, server=f'admin_token = "{TOKEN}"')
    database = Database.open(configuration.load(str(config)).database_url)
    database.submit(busy_state.fill, time.time()).result(20)
    database.close()
    with server.started(config) as one, browser.started(folder) as tab:
        made = Site(folder, one, tab)
        tab.open(f"{one.url}/login?next=/admin#token={TOKEN}")
        tab.until("location.pathname === '/admin'")
        yield made


def test_a_link_with_the_token_behind_its_hash_logs_in_and_leaves_no_trace_of_it(site: Site) -> None:
    site.tab.open(f"{site.url}/admin")
    (cookie,) = (one for one in site.tab.cookies() if one["name"] == "fordjent")
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Lax", False)
    assert TOKEN not in str(site.tab.get("location.href")) and site.tab.get("document.cookie") == ""


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_the_screen_runs_nothing_foreign_and_complains_of_nothing(
    site: Site, path: str, size: browser.Size
) -> None:
    site.tab.problems.clear()
    for dark in (False, True):
        site.tab.open(site.url + path, size, dark=dark)
        assert site.tab.get("document.documentElement.scrollWidth") <= size[0]
        assert "owned" not in str(site.tab.get("document.title"))
        assert site.tab.get("document.querySelectorAll('img').length") == 0
        light, dark_one = "rgb(245, 246, 248)", "rgb(20, 23, 27)"
        assert site.tab.get("getComputedStyle(document.body).backgroundColor") == (
            dark_one if dark else light
        )
    assert site.tab.problems == []


def test_the_policy_keeps_out_what_the_escaping_would_have_let_through(site: Site) -> None:
    site.tab.open(f"{site.url}/activity")
    site.tab.get(
        'document.querySelector(\'main\').insertAdjacentHTML(\'beforeend\', \'<img src="/healthz" onerror="window.owned = 1"><a onclick="window.owned = 1" id="bait">x</a>\')'
    )
    site.tab.click("#bait")
    site.tab.get(
        "(() => { const one = document.createElement('script'); one.textContent = 'window.owned = 1'; document.body.append(one) })()"
    )
    assert site.tab.get("window.owned") is None
    site.tab.problems.clear()


def test_a_page_shows_what_happens_without_being_loaded_anew(site: Site) -> None:
    site.tab.open(f"{site.url}/activity")
    site.tab.until("document.querySelector('#live').dataset.state === 'on'")
    site.tab.get("window.same = true")
    assert "a new reason" not in site.tab.text("main")
    change = {
        "key": KEY,
        "from_state": "working",
        "to_state": "waiting",
        "reason": "a new reason",
        "at": time.time(),
    }

    def happen(connection: Connection) -> None:
        connection.execute(insert(transitions).values(change))

    site.write(happen)
    site.tab.until("document.querySelector('main').innerText.includes('a new reason')")
    assert site.tab.get("window.same") is True


def test_what_a_person_has_opened_stays_open(site: Site) -> None:
    site.tab.open(f"{site.url}/trace/{KEY}")
    site.tab.until("document.querySelector('#live').dataset.state === 'on'")
    site.tab.get("document.querySelector('#d3').open = true")
    change = {
        "key": KEY,
        "from_state": "waiting",
        "to_state": "working",
        "reason": "another reason",
        "at": time.time(),
    }

    def happen(connection: Connection) -> None:
        connection.execute(insert(transitions).values(change))

    site.write(happen)
    site.tab.until("document.querySelector('main').innerText.includes('another reason')")
    assert site.tab.get("document.querySelector('#d3').open") is True
    assert site.tab.get("document.querySelector('#d5').open") is False


def test_everything_is_there_and_done_without_scripts_too(site: Site) -> None:
    site.tab.open(f"{site.url}/admin", PHONE, scripts=False)
    assert "At work" in site.tab.text("main")
    assert site.tab.get(
        "document.querySelector('noscript meta[http-equiv=refresh]') !== null || document.querySelector('noscript') !== null"
    )
    site.tab.open(f"{site.url}/admin", PHONE)


def test_a_person_pauses_everything_and_resumes(site: Site) -> None:
    site.tab.open(f"{site.url}/admin", PHONE)
    site.tab.get("document.querySelector('input[name=reason]').value = 'a long weekend'")
    site.tab.click("form[action='/admin/pause'] button")
    site.tab.until("document.querySelector('main').innerText.includes('a long weekend')")
    found = site.look(pausing.current)
    assert isinstance(found, pausing.Pause) and not found.interrupts
    site.tab.click("form[action='/admin/resume'] button")
    site.tab.until("document.querySelector(\"form[action='/admin/pause']\") !== null")
    assert site.look(pausing.current) is None


def test_a_person_has_a_session_tried_again(site: Site) -> None:
    site.tab.open(f"{site.url}/sessions?state=failed")
    before = site.tab.get("document.querySelectorAll('td.do button').length")
    site.tab.click("form[action$='/retry'] button")
    site.tab.until(
        "location.search === '?state=failed' && [...document.querySelectorAll('td.do button')].some(one => one.innerText === 'stop')"
    )
    assert site.tab.get("document.querySelectorAll('td.do button').length") == before


def test_a_logout_leads_to_the_form_and_the_form_back_in(site: Site) -> None:
    site.tab.open(f"{site.url}/admin")
    site.tab.click("form[action='/logout'] button")
    site.tab.until("location.pathname === '/login'")
    site.tab.open(f"{site.url}/activity")
    site.tab.until("location.pathname === '/login' && document.querySelector('#token') !== null")
    site.tab.get(f"document.querySelector('#token').value = '{TOKEN}'")
    site.tab.click("#login button")
    site.tab.until("location.pathname === '/activity'")
