"""A model that answers by a script: for demonstrations and tests, without a network, always the same.

A script is a JSON file, `{"rules": [...]}`. The first rule that holds answers (docs/fordjent.md has an example):

    provider     of that provider only (its name in config.toml)
    last         regular expression on the last user's or tool's message
    last_role    "user" or "tool": whose that message must be
    anywhere     list of regular expressions, each found in some message, the system's included
    times        how often it answers in one conversation; 0: without end
    text         what it says
    tool_calls   list of {"name", "arguments"}
    delay        how long that takes, e.g. "200ms"
    failure      broken | busy | empty | auth | refused | context | quota: it fails instead
    failures     … that often for one and the same conversation, and answers then; 0: always
    usage        {"tokens_in", "tokens_out", "tokens_cached"}; else counted roughly

Named groups of `last` and `anywhere` are put into text and arguments where they stand as <name>; a string that
is nothing but <name:int> becomes that number.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from fordjent.models import estimating
from fordjent.models.endpoint import AttemptFailed
from fordjent.models.messages import Answer, Message, Role, ToolCall, ToolSpec, Usage
from harness import config as toml
from harness.config import Duration
from harness.errors import BadConfig

SCHEME = "scripted:"
LONGEST_SCRIPT_BYTES = 1024 * 1024
REMEMBERED_FAILURES = 10_000

_PLACE = re.compile(r"<([a-z_]+)(:int)?>")


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] | str = {}
    """A string: as it is, be it JSON or not."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must hold, and what is answered then."""

    provider: str = ""
    last: str = ""
    last_role: Literal["", "user", "tool"] = ""
    anywhere: list[str] = []
    times: int = 1
    text: str = ""
    tool_calls: list[Call] = []
    delay: Duration = "0s"
    failure: Literal["", "broken", "busy", "empty", "auth", "refused", "context", "quota"] = ""
    failures: int = 0
    finish_reason: Literal["stop", "tool_calls", "length"] | None = None
    usage: Usage | None = None


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: list[Rule]


class ScriptedEndpoint:
    """Answers by the rules alone: which of them were used is seen in the conversation itself, so that a
    restart changes nothing. Only failures are counted here."""

    def __init__(self, name: str, model: str, script: Script) -> None:
        self.name = name
        self._model = model
        self._rules = [rule for rule in script.rules if rule.provider in ("", name)]
        self._failed: Counter[tuple[int, str]] = Counter()

    @classmethod
    def read(cls, name: str, model: str, path: Path) -> ScriptedEndpoint:
        """
        Raises:
            BadConfig: no such file, or not a script.
        """
        try:
            script = msgspec.json.decode(path.read_bytes()[:LONGEST_SCRIPT_BYTES], type=Script)
            for rule in script.rules:
                for pattern in (rule.last, *rule.anywhere):
                    re.compile(pattern)
        except OSError as error:
            raise BadConfig(f"providers.{name}.base_url: {path}: {error.strerror}") from error
        except (msgspec.MsgspecError, re.error) as error:
            raise BadConfig(
                f"providers.{name}.base_url: {path}: {error}",
                hint="lib/fordjent/models/scripted.py has every key",
            ) from error
        return cls(name, model, script)

    async def attempt(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        number, groups = self._choose(messages)
        if number is None:
            said = next((each.content for each in reversed(messages) if each.role in ("user", "tool")), "")
            raise AttemptFailed("refused", f"no rule of the script is for this: {said[:300]!r}")
        rule = self._rules[number]
        await asyncio.sleep(toml.seconds(rule.delay))
        self._fail_if_told(number, messages)
        calls = tuple(
            ToolCall(f"call_{len(messages)}_{place}", call.name, _arguments(call.arguments, groups))
            for place, call in enumerate(rule.tool_calls)
        )
        message = Message("assistant", _filled(rule.text, groups), calls)
        usage = rule.usage or Usage(
            estimating.of_messages(messages) + estimating.of_tools(tools),
            estimating.of_message(message),
            estimated=True,
        )
        message = msgspec.structs.replace(message, tokens=usage.tokens_in + usage.tokens_out)
        finish = rule.finish_reason or ("tool_calls" if calls else "stop")
        return Answer(message, usage, self._model, self.name, finish, toml.seconds(rule.delay))

    async def aclose(self) -> None:
        pass

    def _choose(self, messages: Sequence[Message]) -> tuple[int | None, dict[str, str]]:
        """The rule for the end of a conversation, when each answer before it was a rule's too."""
        used: Counter[int] = Counter()
        for place, message in enumerate(messages):
            if message.role == "assistant":
                number, _ = self._holding(messages[:place], used)
                if number is not None:
                    used[number] += 1
        return self._holding(messages, used)

    def _holding(self, messages: Sequence[Message], used: Counter[int]) -> tuple[int | None, dict[str, str]]:
        for number, rule in enumerate(self._rules):
            if rule.times == 0 or used[number] < rule.times:
                groups = _holds(rule, messages)
                if groups is not None:
                    return number, groups
        return None, {}

    def _fail_if_told(self, number: int, messages: Sequence[Message]) -> None:
        rule = self._rules[number]
        if not rule.failure:
            return
        digest = hashlib.sha256(msgspec.json.encode(list(messages))).hexdigest()
        if rule.failures and self._failed[number, digest] >= rule.failures:
            return
        if len(self._failed) >= REMEMBERED_FAILURES:
            self._failed.clear()
        self._failed[number, digest] += 1
        if rule.failure == "empty":
            raise AttemptFailed("broken", "an empty answer")
        raise AttemptFailed(rule.failure, f"the script says: {rule.text or rule.failure}")


def _holds(rule: Rule, messages: Sequence[Message]) -> dict[str, str] | None:
    """The named groups of the rule's patterns; None: it does not hold."""
    heard: tuple[Role, ...] = ("user", "tool")
    last = next((message for message in reversed(messages) if message.role in heard), None)
    if last is None or rule.last_role not in ("", last.role):
        return None
    found = [re.search(rule.last, last.content)]
    for pattern in rule.anywhere:
        found.append(next((hit for each in messages if (hit := re.search(pattern, each.content))), None))
    if not all(found):
        return None
    return {
        name: value or "" for match in reversed(found) if match for name, value in match.groupdict().items()
    }


def _arguments(arguments: dict[str, Any] | str, groups: dict[str, str]) -> str:
    filled = _filled(arguments, groups)
    return filled if isinstance(filled, str) else msgspec.json.encode(filled).decode()


def _filled(value: Any, groups: dict[str, str]) -> Any:
    if isinstance(value, str):
        whole = _PLACE.fullmatch(value)
        if whole and whole[2] and groups.get(whole[1], "").isdecimal():
            return int(groups[whole[1]])
        return _PLACE.sub(lambda match: groups.get(match[1], match[0]), value)
    if isinstance(value, list):
        return [_filled(item, groups) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, groups) for key, item in value.items()}
    return value
