"""Who may look."""

from __future__ import annotations

import re
import time

import pytest

from tests.fordjent.serving.conftest import Ask

TOKEN = 'admin_token = "a-long-admin-token"'
GUARDED = ["/status", "/metrics", "/activity", "/admin", "/trace/acme/widget/issues/1", "/acp/v1/stream"]


@pytest.mark.parametrize("path", GUARDED)
def test_without_a_token_only_this_machine_is_answered(ask: Ask, path: str) -> None:
    refused = ask(path, client="192.0.2.7", host="fordjent.example.org")
    assert refused.status_code == 403 and "admin_token" in refused.json()["hint"]
    if path != "/acp/v1/stream":
        assert ask(path).status_code in (200, 404)


@pytest.mark.parametrize("path", GUARDED)
def test_with_a_token_nobody_is_answered_without_it(ask: Ask, path: str) -> None:
    for client in ("127.0.0.1", "192.0.2.7"):
        refused = ask(path, server=TOKEN, client=client)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("path", ["/healthz", "/login"])
def test_what_is_open_is_open_to_everybody(ask: Ask, path: str) -> None:
    assert ask(path, server=TOKEN, client="192.0.2.7", host="fordjent.example.org").status_code == 200


def test_the_token_is_taken_as_bearer(ask: Ask) -> None:
    def status(value: str) -> int:
        return ask("/status", server=TOKEN, client="192.0.2.7", headers={"Authorization": value}).status_code

    assert status("Bearer a-long-admin-token") == status("bearer  a-long-admin-token") == 200
    for wrong in ("Bearer a-long-admin-toke", "Bearer", "", "Basic a-long-admin-token", "a-long-admin-token"):
        assert status(wrong) == 401


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_a_proxy_on_this_machine_is_not_this_machine(ask: Ask, header: str) -> None:
    assert ask("/status", headers={header: "127.0.0.1"}).status_code == 403


def test_a_name_that_somebody_made_point_here_is_not_this_machine(ask: Ask) -> None:
    assert ask("/status", host="evil.example.org").status_code == 403
    assert ask("/status", host="localhost:8080").status_code == 200
    assert ask("/status", host="[::1]:8080", client="::1").status_code == 200


def test_a_browser_is_led_to_the_form_and_from_there_back(ask: Ask) -> None:
    led = ask("/activity", server=TOKEN, headers={"Accept": "text/html"})
    assert (led.status_code, led.headers["location"]) == (303, "/login?next=/activity")
    entered = ask("/login?next=/activity", server=TOKEN, method="POST", data={"token": "a-long-admin-token"})
    assert (entered.status_code, entered.headers["location"]) == (303, "/activity")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "a-long-admin-token" not in cookie
    value = re.search(r"fordjent=([^;]+)", cookie)
    assert value
    headers = {"Cookie": f"fordjent={value[1]}"}
    assert ask("/activity", server=TOKEN, client="192.0.2.7", headers=headers).status_code == 200
    other = 'admin_token = "another-admin-token"'
    assert ask("/activity", server=other, headers=headers).status_code == 401


def test_over_https_the_cookie_stays_there(ask: Ask) -> None:
    server = f'{TOKEN}\npublic_url = "https://fordjent.example.org"'
    entered = ask("/login", server=server, method="POST", data={"token": "a-long-admin-token"})
    assert "Secure" in entered.headers["set-cookie"]


def test_a_wrong_token_gets_no_cookie(ask: Ask) -> None:
    for data in ({"token": "wrong"}, {"token": ""}, {}, {"other": "a-long-admin-token"}):
        refused = ask("/login", server=TOKEN, method="POST", data=data)
        assert refused.status_code == 401 and "set-cookie" not in refused.headers
    assert "set-cookie" not in ask("/login", method="POST", data={"token": ""}).headers


@pytest.mark.parametrize(
    "following", ["//evil.example.org", "https://evil.example.org", "/\\evil", "", "/a\nb"]
)
def test_the_form_leads_to_no_other_site(ask: Ask, following: str) -> None:
    entered = ask(
        "/login",
        server=TOKEN,
        method="POST",
        params={"next": following},
        data={"token": "a-long-admin-token"},
    )
    assert entered.headers["location"] == "/admin"


def test_a_cookie_that_is_made_up_or_over_is_none(ask: Ask) -> None:
    soon = int(time.time()) + 60
    for value in (f"{soon}.{'0' * 64}", f"{soon}", "", "x.y", f"{10**20}.{'0' * 64}", "²." + "0" * 64):
        refused = ask("/status", server=TOKEN, headers={"Cookie": f"fordjent={value}".encode()})
        assert refused.status_code == 401


def test_an_expired_cookie_is_none(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.pages.guard.COOKIE_SECONDS", -1)
    entered = ask("/login", server=TOKEN, method="POST", data={"token": "a-long-admin-token"})
    value = entered.headers["set-cookie"].partition(";")[0]
    assert ask("/status", server=TOKEN, headers={"Cookie": value}).status_code == 401


def test_a_login_of_any_length_is_not_read_on(ask: Ask) -> None:
    assert ask("/login", server=TOKEN, method="POST", content=b"token=" + b"x" * 10000).status_code == 413
