"""A model provider on loopback that answers by a script, for agent CLIs that are driven for real.

It speaks what hermes, opencode, pi and mini (OpenAI chat completions), codex (OpenAI
Responses), claude (Anthropic Messages) and gemini (generateContent) ask for. The turn that
a request gets is the number of tool results that it brings: so retries and parallel agents
get what is theirs.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

MODEL = "scripted-model"
SHELL_TOOLS = {
    "terminal": "command",
    "exec_command": "cmd",
    "Bash": "command",
    "bash": "command",
    "run_shell_command": "command",
}
"""Name of a shell tool to the name of its argument."""

INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS = 100, 40, 7
"""Of each answer; the cached ones come on top of the others."""

Event = tuple[str, dict[str, Any]]


class Turn(NamedTuple):
    """What the model says, and the command that it wants to be run ("": it has ended).

    `tool`: the tool that is called instead, with `arguments`; the CLI may have put a server's name before its own.
    """

    text: str
    shell: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}

    @property
    def calls(self) -> bool:
        return bool(self.shell or self.tool)


class ScriptedModel:
    """Serves while it is entered. `status`: the HTTP status that every request gets, with an error.

    Past the last turn the last one is repeated. `requests` collects the bodies of those
    that offered tools.
    """

    def __init__(self, turns: Sequence[Turn], status: int = 200) -> None:
        self.turns = turns
        self.status = status
        self.requests: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Without a path: the Anthropic way. The OpenAI ones end in /v1."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def turn(self, body: dict[str, Any]) -> Turn:
        if not body.get("tools"):
            return Turn("A title")
        self.requests.append(body)
        return self.turns[min(tool_results(body), len(self.turns) - 1)]


def tool_results(body: dict[str, Any]) -> int:
    """How many tool results a conversation holds, in each of the forms."""
    items = body.get("messages") or body.get("input") or body.get("contents") or []
    blocks = [block for item in items for block in _blocks(item)]
    return sum(
        item.get("role") == "tool"
        or item.get("type") in ("function_call_output", "tool_result")
        or "functionResponse" in item
        for item in [*items, *blocks]
    )


def _blocks(item: dict[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content") or item.get("parts")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _call(body: dict[str, Any], turn: Turn) -> tuple[str, dict[str, Any]]:
    """Name and arguments of the tool that the request offers: the one that is meant, or its shell."""
    for name, schema in _offered(body):
        if turn.tool and name.endswith(turn.tool):
            return name, turn.arguments
        if turn.tool:
            continue
        if name in SHELL_TOOLS:
            others = [key for key in schema.get("required", []) if key != SHELL_TOOLS[name]]
            return name, {SHELL_TOOLS[name]: turn.shell, **dict.fromkeys(others, "Run a command")}
    raise ValueError(f"the request offers no {turn.tool or 'shell'} tool that is known")


def _offered(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of the tools that a request offers, with the schemas of their arguments."""
    spaces = [tool for tool in body["tools"] if tool.get("type") == "namespace"]
    for tool in [*body["tools"], *(each for space in spaces for each in space["tools"])]:
        for about in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            places = ("parameters", "input_schema", "parametersJsonSchema")
            schema = next((about[place] for place in places if about.get(place)), {})
            yield about.get("name", ""), schema


# ---- the forms, streamed; each yields (event name, data)


def chat_completions(body: dict[str, Any], turn: Turn) -> Iterator[Event]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return "", _chat_frame(choices=[choice])

    yield chunk({"role": "assistant", "content": turn.text})
    if turn.calls:
        name, arguments = _call(body, turn)
        function = {"name": name, "arguments": json.dumps(arguments)}
        identifier = f"call_{tool_results(body)}"
        yield chunk(
            {"tool_calls": [{"index": 0, "id": identifier, "type": "function", "function": function}]}
        )
    yield chunk({}, "tool_calls" if turn.calls else "stop")
    usage = {
        "prompt_tokens": INPUT_TOKENS + CACHED_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + CACHED_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    }
    yield "", _chat_frame(choices=[], usage=usage)


def chat_completion(body: dict[str, Any], turn: Turn) -> dict[str, Any]:
    """The same in one piece, for a request that is not to be streamed (titles, summaries)."""
    frames = [frame for _, frame in chat_completions(body, turn)]
    message: dict[str, Any] = {}
    for frame in frames[:-1]:
        message |= frame["choices"][0]["delta"]
    choice = {"index": 0, "message": message, "finish_reason": frames[-2]["choices"][0]["finish_reason"]}
    return {**frames[-1], "object": "chat.completion", "choices": [choice]}


def _chat_frame(**more: Any) -> dict[str, Any]:
    return {"id": "chat_1", "object": "chat.completion.chunk", "created": 0, "model": MODEL, **more}


def responses(body: dict[str, Any], turn: Turn) -> Iterator[Event]:
    number = tool_results(body)
    content = [{"type": "output_text", "text": turn.text, "annotations": []}]
    items: list[dict[str, Any]] = [
        {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    ]
    if turn.calls:
        name, arguments = _call(body, turn)
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
        spaces = [tool for tool in body["tools"] if tool.get("type") == "namespace"]
        for space in spaces:
            if any(each["name"] == name for each in space["tools"]):
                call["namespace"] = space["name"]
        items.append({**call, "arguments": json.dumps(arguments)})
    answer = {"id": f"resp_{number}", "object": "response", "model": MODEL}
    yield "response.created", {"response": {**answer, "status": "in_progress", "output": []}}
    for index, item in enumerate(items):
        yield "response.output_item.added", {"output_index": index, "item": item}
        yield "response.output_item.done", {"output_index": index, "item": item}
    usage = {
        "input_tokens": INPUT_TOKENS + CACHED_TOKENS,
        "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": INPUT_TOKENS + CACHED_TOKENS + OUTPUT_TOKENS,
    }
    yield (
        "response.completed",
        {"response": {**answer, "status": "completed", "output": items, "usage": usage}},
    )


def messages(body: dict[str, Any], turn: Turn) -> Iterator[Event]:
    usage = {"input_tokens": INPUT_TOKENS, "cache_read_input_tokens": CACHED_TOKENS, "output_tokens": 1}
    message = {"id": f"msg_{tool_results(body)}", "type": "message", "role": "assistant", "model": MODEL}
    yield (
        "message_start",
        {"message": {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}},
    )
    blocks: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text})
    ]
    if turn.calls:
        name, arguments = _call(body, turn)
        use = {"type": "tool_use", "id": f"toolu_{tool_results(body)}", "name": name, "input": {}}
        blocks.append((use, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}))
    for index, (block, delta) in enumerate(blocks):
        yield "content_block_start", {"index": index, "content_block": block}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    reason = "tool_use" if turn.calls else "end_turn"
    yield (
        "message_delta",
        {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": OUTPUT_TOKENS}},
    )
    yield "message_stop", {}


def generate_content(body: dict[str, Any], turn: Turn) -> Iterator[Event]:
    parts: list[dict[str, Any]] = [{"text": turn.text}]
    if turn.calls:
        name, arguments = _call(body, turn)
        parts.append({"functionCall": {"id": f"call_{tool_results(body)}", "name": name, "args": arguments}})
    usage = {
        "promptTokenCount": INPUT_TOKENS + CACHED_TOKENS,
        "cachedContentTokenCount": CACHED_TOKENS,
        "candidatesTokenCount": OUTPUT_TOKENS,
        "totalTokenCount": INPUT_TOKENS + CACHED_TOKENS + OUTPUT_TOKENS,
    }
    candidate = {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts}}
    yield "", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}


FORMS = {
    "/chat/completions": chat_completions,
    "/responses": responses,
    "/messages": messages,
    ":streamGenerateContent": generate_content,
}


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(200, "application/json", b"")

        def do_GET(self) -> None:
            if self.path.split("?")[0].endswith("/models"):
                entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}
                self._json(200, {"object": "list", "data": [entry]})
            else:
                self._json(404, {"error": {"type": "not_found_error", "message": "no such thing"}})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            path = self.path.split("?")[0]
            form = next((form for end, form in FORMS.items() if path.endswith(end)), None)
            if path.endswith("/count_tokens"):
                self._json(200, {"input_tokens": INPUT_TOKENS})
            elif form is None:
                self._json(404, {"error": {"type": "not_found_error", "message": "no such thing"}})
            elif model.status != 200:
                about = {"code": model.status, "type": "scripted", "message": f"scripted {model.status}"}
                self._json(model.status, {"error": about})
            elif form is chat_completions and not body.get("stream"):
                self._json(200, chat_completion(body, model.turn(body)))
            else:
                self._stream(form(body, model.turn(body)))

        def _stream(self, events: Iterator[Event]) -> None:
            lines = []
            for name, data in events:
                if name:
                    lines.append(f"event: {name}\n")
                    data = {"type": name, **data}
                lines.append(f"data: {json.dumps(data)}\n\n")
            if "chat.completion" in lines[0]:
                lines.append("data: [DONE]\n\n")
            self._answer(200, "text/event-stream", "".join(lines).encode())

        def _json(self, status: int, document: dict[str, Any]) -> None:
            self._answer(status, "application/json", json.dumps(document).encode())

        def _answer(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
