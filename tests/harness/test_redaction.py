"""Secrets: found, taken out, and not seen where there are none."""

from __future__ import annotations

import hashlib
import random
import re
import time
from pathlib import Path

import pytest

from harness import process
from harness.redaction import (
    FINGERPRINT,
    KNOWN,
    SHORTEST,
    Finding,
    Redactor,
    is_secret_name,
    key_bodies,
    known_secrets,
)

BODY = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\nQyNTUxOQAAACDe1x"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

SECRETS = [
    (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n-----END OPENSSH PRIVATE KEY-----", "private key"),
    (f'"-----BEGIN RSA PRIVATE KEY-----\\n{BODY}\\n-----END RSA PRIVATE KEY-----"', "private key"),
    (f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: X,1\n\n{BODY}", "private key"),
    (f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----", "private key"),
    ("AKIA" + "QWERTYUIOPASDFGH", "AWS access key"),
    ("aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzzzzzzzKe", "AWS secret key"),
    ("ghp_" + "a1B2" * 9, "GitHub token"),
    ("github_pat_" + "a" * 22 + "_" + "b1" * 29 + "c", "GitHub token"),
    ("glpat-" + "aB3_x" * 4, "GitLab token"),
    ("xoxb-123456789012-abcdefABCDEF", "Slack token"),
    ("https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/" + "x1" * 12, "Slack webhook"),
    ("sk-proj-" + "aB3d" * 10, "model API key"),
    ("sk-ant-api03-" + "aB3_" * 20, "model API key"),
    ("sk-or-v1-" + "0123456789abcdef" * 4, "model API key"),
    ("AIza" + "Sy0123456789abcdefghijklmnopqrstuvwx"[:35], "Google API key"),
    (JWT, "JSON web token"),
    ("https://git:abc123def456xyz@forge.org/x.git", "password in a URL"),
]

ORDINARY = [
    hashlib.sha1(b"x").hexdigest(),
    hashlib.sha256(b"x").hexdigest(),
    "550e8400-e29b-41d4-a716-446655440000",
    "sha512-" + "a1B2c3D4" * 10 + "==",
    "git@example.org:team/project.git",
    "ssh://git@example.org/team/project.git",
    "https://example.org/path?q=1#at@sign",
    "postgres://user:password1234@localhost:5432/test",
    "https://user:correcthorse12@example.org/",
    "http://${USER}:${PASSWORD}@host/",
    "https://[redacted]@host/",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "AKIAIOSFODNN7EXAMPLE",
    "sk-learn-extended-something-library-name",
    "risk-assessment-2020-abcdefghijklmnopqrstuvwxyz",
    "task-" + "a1" * 20,
    "eyJust.a.word",
    "password: hunter2",
    "data:image/png;base64," + "iVBORw0KGgo" * 20,
]


@pytest.mark.parametrize(("text", "rule"), SECRETS)
def test_well_known_secrets_are_found_and_taken_out(text: str, rule: str) -> None:
    redactor = Redactor()
    assert rule in [finding.rule for finding in redactor.scan(f"first line\n{text}\nlast".encode())]
    redacted = redactor.redact(f"first line\n{text}\nlast")
    assert "[redacted]" in redacted and redacted.startswith("first line\n")
    assert Redactor().scan(redacted.encode()) == []


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_holds_no_push(text: str) -> None:
    assert Redactor().scan(f"see {text} here".encode()) == []


def test_a_finding_says_rule_and_line_and_never_the_value() -> None:
    token = "ghp_" + "a1B2" * 9
    second, third = Redactor().scan(f"one\ntwo {token}\nthree {token}".encode())
    assert (second[:2], third[:2]) == (("GitHub token", 2), ("GitHub token", 3))
    assert re.fullmatch(FINGERPRINT, second.fingerprint) and second.fingerprint == third.fingerprint
    assert token not in f"{second} {second!r}"


@pytest.mark.parametrize(("text", "rule"), SECRETS)
def test_what_is_allowed_by_its_fingerprint_passes_alone_and_is_redacted_as_before(
    text: str, rule: str
) -> None:
    data = f"see {text} here".encode()
    allowed = [finding.fingerprint for finding in Redactor().scan(data)]
    redactor = Redactor(allowed=allowed)
    assert redactor.scan(data) == [] and redactor.objection(data) == ""
    assert redactor.redact(data.decode()) == Redactor().redact(data.decode())
    other = data + b"\nghp_" + b"c3D4" * 9
    assert "GitHub token [fingerprint" in redactor.objection(other)
    redactor.allow([])
    assert rule in redactor.objection(data)


@pytest.mark.parametrize(("text", "_rule"), SECRETS)
def test_a_known_secret_passes_with_no_fingerprint(text: str, _rule: str) -> None:
    lines = [line for line in text.splitlines() if len(line) >= SHORTEST and not line.startswith("-----")]
    data = f"see {text} here".encode()
    allowed = [finding.fingerprint for finding in Redactor().scan(data)]
    redactor = Redactor(lines, [*allowed, ""])
    assert redactor.objection(data) == KNOWN
    assert all(finding.fingerprint == "" for finding in redactor.scan(data) if finding.rule == KNOWN)


def test_known_secrets_are_taken_out_wherever_they_stand() -> None:
    redactor = Redactor(["p@ss word/1234", "short", "line-one-of-the-secret\nline-two-of-the-secret\n"])
    assert redactor.redact("it is p@ss word/1234!") == "it is [redacted]!"
    assert redactor.redact("?q=p%40ss%20word%2F1234&x") == "?q=[redacted]&x"
    assert redactor.redact("only line-two-of-the-secret") == "only [redacted]"
    assert redactor.redact("short words stay") == "short words stay"
    assert redactor.scan(b"\n\np@ss word/1234") == [Finding("known secret", 3)]


def test_of_two_known_secrets_the_longer_one_goes_first() -> None:
    assert Redactor(["abcdefgh", "abcdefgh-and-more"]).redact("abcdefgh-and-more") == "[redacted]"


def test_a_text_is_redacted_before_it_is_cut() -> None:
    token = "ghp_" + "a1B2" * 9
    assert Redactor().tail(f"{token} end", 30) == "[redacted] end"
    assert Redactor().tail("x" * 50, 5) == "…xxxxx"


def test_passwords_in_urls_are_taken_out_of_texts_even_where_they_hold_no_push() -> None:
    redactor = Redactor()
    assert redactor.redact("https://u:pass@host/") == "https://[redacted]@host/"
    assert redactor.redact(f"https://{'0123456789abcdef' * 2}@host/") == "https://[redacted]@host/"
    assert redactor.redact("Authorization: Bearer abcdefghijkl") == "Authorization: Bearer [redacted]"
    assert redactor.redact("ssh://git@host/x") == "ssh://git@host/x"


def test_bytes_that_are_no_text_come_through() -> None:
    odd = b"\xff\xfe ok".decode("utf-8", "surrogateescape")
    assert Redactor(["12345678"]).redact(odd) == odd


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("FORGE_TOKEN", True),
        ("OPENAI_API_KEY", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("DB_PASSWORD", True),
        ("client_secret", True),
        ("TOKEN_FILE", False),
        ("GPG_KEY", False),
        ("KEYBOARD", False),
        ("SSH_AUTH_SOCK", False),
        ("TOKENIZERS_PARALLELISM", False),
    ],
)
def test_which_names_hold_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_the_environments_secrets_are_known_by_name_or_because_config_names_them() -> None:
    environ = {
        "FORGE_TOKEN": "forge-token-value",
        "MY_LOGIN": "named-in-config",
        "HOME": "/home/me",
        "CI_TOKEN": "/run/secrets/ci",
    }
    values = {"EXTRA_API_KEY": "set-in-config", "LEVEL": "debug"}
    assert set(known_secrets(environ, ["MY_LOGIN"], values)) == {
        "forge-token-value",
        "named-in-config",
        "set-in-config",
    }


def test_the_bodies_of_private_keys_are_known(tmp_path: Path) -> None:
    key = tmp_path / "id_ed25519"
    process.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
    (tmp_path / "known_hosts").write_text("host ssh-ed25519 AAAA\n")
    redactor = Redactor(key_bodies(tmp_path))
    line = key.read_text().splitlines()[2]
    assert redactor.redact(f"a line of it: {line}") == "a line of it: [redacted]"
    public = (tmp_path / "id_ed25519.pub").read_text()
    assert redactor.redact(public) == public
    assert list(key_bodies(tmp_path / "missing")) == []


@pytest.mark.parametrize(
    "unit",
    ["sk-", "-sk-ab", "eyJa-", "a.", "x://u:", "-----BEGIN PRIVATE KEY-----\n", "glpat-", "a1b2", "http://"],
)
def test_no_text_makes_the_search_slow(unit: str) -> None:
    data = (unit * (1_000_000 // len(unit))).encode()
    begun = time.process_time()
    Redactor().scan(data)
    assert time.process_time() - begun < 2


def test_random_bytes_hold_no_push() -> None:
    assert Redactor().scan(random.Random(1).randbytes(2_000_000)) == []
