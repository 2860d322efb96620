"""An endpoint that speaks the OpenAI chat-completions protocol, by the `openai` SDK, once per attempt."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import msgspec

from fordjent.config import Provider
from fordjent.models import estimating, wire
from fordjent.models.endpoint import AttemptFailed, FailedKind
from fordjent.models.messages import Answer, Message, ToolSpec, Usage
from harness import config as toml
from harness import cutting

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

LARGEST_ANSWER_BYTES = 10 * 1024 * 1024

_TOO_LONG = re.compile(
    r"context_length_exceeded|context_window|maximum context|context length|context size|prompt is too long"
    r"|input is too long|too many (?:input )?tokens|reduce the length",
    re.IGNORECASE,
)
_OUT_OF_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE
)


class OpenAIEndpoint:
    """One provider of config.toml. `name` is its key there."""

    def __init__(self, name: str, provider: Provider) -> None:
        self.name = name
        self._provider = provider
        self._client: AsyncOpenAI | None = None
        self._dialect = wire.Dialect()

    async def attempt(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        began = time.monotonic()
        body = await self._understood(messages, tools)
        asked = estimating.of_messages(messages) + estimating.of_tools(tools)
        try:
            reply = wire.read(body, parallel_tools=self._provider.parallel_tools)
        except msgspec.MsgspecError as error:  # they had the work all the same
            usage = Usage(asked, 0, estimated=True)
            raise AttemptFailed("broken", f"not an answer: {error}", usage=usage) from error
        usage = reply.usage or Usage(asked, estimating.of_message(reply.message), estimated=True)
        if reply.is_empty:
            if reply.finish_reason == "refused":
                raise AttemptFailed("refused", "the provider's content filter withheld it", usage=usage)
            raise AttemptFailed("broken", "an empty answer", usage=usage)
        return Answer(
            msgspec.structs.replace(reply.message, tokens=usage.tokens_in + usage.tokens_out),
            usage,
            reply.model or self._provider.model,
            self.name,
            reply.finish_reason,
            time.monotonic() - began,
        )

    async def aclose(self) -> None:
        if self._client:
            await self._client.close()
            self._client = None

    async def _understood(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> bytes:
        """The answer to a request in the endpoint's dialect, which its refusals teach."""
        while True:  # a dialect learns each thing once
            try:
                return await self._ask(wire.request(messages, tools, self._provider, self._dialect))
            except AttemptFailed as failed:
                if failed.kind != "refused" or not self._dialect.learns(failed.message):
                    raise

    async def _ask(self, request: wire.Json) -> bytes:
        import httpx2
        import openai

        client = self._open()
        try:
            async with client.chat.completions.with_streaming_response.create(**request) as response:
                body = b""
                async for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > LARGEST_ANSWER_BYTES:
                        raise AttemptFailed("broken", "its answer has no end")
                return body
        except openai.APIStatusError as error:
            raise _refusal(error) from error
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            cause = error.__cause__ or error
            said = str(cause) or type(cause).__name__
            raise AttemptFailed("broken", f"no connection, or one that broke off: {said}") from error

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            import openai

            self._client = openai.AsyncOpenAI(
                base_url=self._provider.base_url,
                api_key=self._provider.api_key or "none",
                timeout=toml.seconds(self._provider.timeout),
                max_retries=0,  # models.provider is the one place that tries again
            )
        return self._client


def _refusal(error: APIStatusError) -> AttemptFailed:
    status = error.status_code
    said = f"HTTP {status}: {cutting.beginning(' '.join(error.response.text.split()), 500)}"
    kind: FailedKind
    if status in (401, 403):
        kind = "auth"
    elif status == 402 or (status == 429 and _OUT_OF_QUOTA.search(said)):
        kind = "quota"
    elif status == 429:
        kind = "busy"
    elif status >= 500 or status in (408, 409, 425):
        kind = "broken"
    else:
        kind = "context" if status == 413 or _TOO_LONG.search(said) else "refused"
    return AttemptFailed(kind, said, retry_after_seconds=retry_after(error.response.headers))


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that the headers ask to wait; 0.0: none, or not to be understood."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, ((when if when.tzinfo else when.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds())
