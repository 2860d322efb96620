"""The toolbox: what a model is offered, and what becomes of calls that go wrong."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from structlog.testing import capture_logs

from fordjent.models.messages import ToolCall
from fordjent.roles.roles import ROLES
from fordjent.tools import output, permission
from fordjent.tools.registry import TOOLS
from fordjent.tools.tool import Arguments, Tool, check
from harness.errors import BadConfig
from harness.redaction import Redactor
from tests.support.desks import Desk
from tests.support.grounds import Workbench, write_config

WRITING = {"bash", "write_file", "edit_file", "git", "forgejo_create_pr"}


def call(bench: Workbench, name: str, arguments: str) -> Any:
    return asyncio.run(bench.toolbox.call(ToolCall("1", name, arguments)))


@pytest.mark.parametrize("name", list(TOOLS))
def test_every_schema_is_closed_and_described(name: str) -> None:
    schema = TOOLS[name].spec.parameters

    def objects(node: Any) -> list[dict[str, Any]]:
        below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        own = [node] if isinstance(node, dict) and node.get("type") == "object" else []
        return own + [found for each in below for found in objects(each)]

    assert "$ref" not in str(schema)
    for found in objects(schema):
        assert found["additionalProperties"] is False
        assert all("description" in each and "type" in each for each in found["properties"].values())


def test_a_tool_that_could_not_be_offered_is_found_at_the_start() -> None:
    class Undescribed(Arguments, frozen=True):
        """Do something."""

        path: str

    with pytest.raises(ValueError, match="no description"):
        check(Tool("undescribed", Undescribed, lambda *_: None))  # type: ignore[arg-type, return-value]


def test_every_role_has_its_tools_in_one_order(place: Path) -> None:
    config = write_config(place)
    order = list(TOOLS)
    for name, role in ROLES.items():
        mine = permission.names(role, config)
        assert list(mine) == sorted(mine, key=order.index) and set(mine) == set(role.tools)
        assert bool(WRITING & set(mine)) == role.writes_code, name


def test_a_role_has_exactly_the_tools_that_are_named_for_it(place: Path) -> None:
    config = write_config(place, '[roles.pm]\ntools = ["read_file", "forgejo_comment"]\n')

    assert permission.names(ROLES["pm"], config) == ("read_file", "forgejo_comment")


def test_a_tool_that_does_not_exist_cannot_be_named(place: Path) -> None:
    config = write_config(place, '[roles.pm]\ntools = ["fly"]\n')

    with pytest.raises(BadConfig, match=r"roles\.pm\.tools: there is no tool 'fly'"):
        permission.names(ROLES["pm"], config)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_file", "{", "not JSON"),
        ("read_file", "", "missing required field `path`"),
        ("read_file", '{"path": 7}', "$.path"),
        ("read_file", '{"path": "x", "lines": 3}', "unknown field `lines`"),
        ("read_file", '{"path": "x", "offset": "many"}', "$.offset"),
        ("read_file", "[" * 100_000, "got `array`"),
        ("read_file", '{"x":' * 100_000, "unknown field"),
        ("git", '{"args": "status"}', "it takes args (array)"),
        ("bash", '{"command": "a\\u0000b"}', "NUL"),
        ("forgejo_comment", "{}", "does not exist"),
        ("rm -rf /", "{}", "does not exist"),
    ],
)
def test_arguments_that_do_not_fit_are_told_to_the_model(
    bench: Workbench, name: str, arguments: str, said: str
) -> None:
    result = call(bench, name, arguments)

    assert result.failed and result.text.startswith("Error: ") and said in result.text, result.text


def test_numbers_in_quotes_are_numbers(bench: Workbench) -> None:
    assert call(bench, "read_file", '{"path": "hello.txt", "offset": "3"}').text == "     3\tthree"


def test_a_bug_of_ours_is_logged_and_does_not_end_the_run(bench: Workbench) -> None:
    async def broken(_scope: object, _asked: object) -> str:
        raise KeyError("inner secret")

    bench.toolbox._tools["read_file"] = replace(TOOLS["read_file"], does=broken)  # type: ignore[arg-type]
    with capture_logs() as logs:
        result = bench.use("read_file", path="hello.txt")

    assert result.failed and "failed inside (KeyError)" in result.text and "inner secret" not in result.text
    assert logs[0]["event"] == "tool.bug" and logs[0]["exc_info"]


def test_what_only_looks_is_done_again_after_a_restart_and_the_rest_is_interrupted(desk: Desk) -> None:
    desk.toolbox.scope = replace(desk.toolbox.scope, tools=tuple(TOOLS))
    desk.toolbox = type(desk.toolbox)(desk.toolbox.scope)

    assert desk.again("forgejo_version", call="a").text.startswith("Forgejo ")
    interrupted = desk.again("bash", call="b", command="touch planted")
    assert interrupted.failed and "interrupted" in interrupted.text


@given(st.text(max_size=200), st.integers(0, 150), st.text(max_size=200))
def test_whatever_is_cut_no_part_of_a_secret_is_shown(before: str, shift: int, after: str) -> None:
    secret = "s3cr3t-value-0123456789"
    text = before + "x" * shift + secret + after * 3

    shown = output.fit(text, Redactor([secret]), 100)

    assert secret not in shown and len(shown) <= 200


def test_a_long_secret_that_the_cut_went_through_is_not_shown_by_halves() -> None:
    secret = "".join(f"{n:04x}" for n in range(1, 1500))
    lines, many = "ordinary\n" * 2_000, (secret + "\n") * 20

    shown = output.fit_parts(
        (lines + many)[:100_000], (many + lines)[-100_000:], Redactor([secret]), 1, 200_000
    )

    assert not any(secret[at : at + 40] in shown for at in range(0, len(secret) - 40, 20))
    assert shown.startswith("ordinary") and shown.endswith("ordinary\n") and "left out here" in shown


def test_arguments_keep_names_like_title(place: Path) -> None:
    class Titled(Arguments, frozen=True):
        """Do something."""

        title: Annotated[str, Meta(description="A title")]

    tool = Tool("titled", Titled, lambda *_: None)  # type: ignore[arg-type, return-value]
    check(tool)
    assert list(tool.spec.parameters["properties"]) == ["title"]
