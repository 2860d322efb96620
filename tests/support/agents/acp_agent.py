#!/usr/bin/env python3
"""An agent that speaks the Agent Client Protocol on stdio and behaves as it is told: `acp_agent.py SCENARIO`.

Scenarios are the methods of `Agent` below. What the client sent is appended to
`requests.jsonl` in the current folder, one message a line.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]
SLEEPER = [sys.executable, "-c", "import time; time.sleep(300)"]


class Agent:
    def __init__(self) -> None:
        self.numbers = itertools.count(1000)

    # ---- scenarios: what happens on a prompt, and its result

    def normal(self) -> Message:
        """Says something, uses a tool, says that it is done."""
        self.say("Creating ", message_id="m1")
        self.say("the file.", message_id="m1")
        self.update(
            "available_commands_update", availableCommands=[{"name": "help", "description": "x" * 9000}]
        )
        self.tool("t1", "terminal: echo hello > hello.txt", rawInput={"command": "echo hello > hello.txt"})
        Path("hello.txt").write_text("hello\n")
        self.tool_update("t1", "completed", "exit code 0")
        self.update("usage_update", used=1200, size=200000, cost={"amount": 0.0125, "currency": "USD"})
        self.say("Done: ", message_id="m2")
        self.say("hello.txt is there.", message_id="m2")
        return end_turn(inputTokens=1000, outputTokens=70, cachedReadTokens=200, totalTokens=1270)

    def asks(self) -> Message:
        """Asks before it works, once with all kinds of options and once with those for always."""
        outcomes = [self.ask("a1", "allow_always", "reject_always", "allow_once", "reject_once")]
        outcomes.append(self.ask("a2", "allow_always", "reject_always"))
        self.say(json.dumps(outcomes))
        return end_turn()

    def wants_files(self) -> Message:
        """Calls back for files, a terminal and a form, which nobody offered."""
        answers = [
            self.call("fs/read_text_file", sessionId="s1", path="/etc/passwd"),
            self.call("terminal/create", sessionId="s1", command="id"),
            self.call("elicitation/create", sessionId="s1", mode="form", message="?"),
        ]
        self.say(json.dumps([answer.get("error", {}).get("code") for answer in answers]))
        return end_turn()

    def waits(self) -> Message:
        """Works on a tool until it is cancelled, as the protocol wants it."""
        self.tool("t1", "sleep")
        self.await_cancel()
        self.say("Stopped.")
        return {"stopReason": "cancelled"}

    def breaks_on_cancel(self) -> Message:
        """Answers a cancellation with an internal error."""
        self.tool("t1", "sleep")
        self.await_cancel()
        raise Refused(-32603, "'NoneType' object has no attribute 'startswith'")

    def ignores_cancel(self) -> Message:
        """Hears neither the cancellation nor TERM nor the end of its stdin."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.tool("t1", "sleep")
        time.sleep(300)
        return {"stopReason": "cancelled"}

    def leaves_a_child(self) -> Message:
        """A child in its own group that outlives it, as the native part under a wrapper does."""
        child = subprocess.Popen(SLEEPER, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.say(str(child.pid))
        return end_turn()

    def dies_in_a_tool(self) -> Message:
        """Dies while a tool runs that keeps its stdout open, in a session of its own."""
        child = subprocess.Popen(SLEEPER, stdin=subprocess.DEVNULL, start_new_session=True)
        self.say(f"pid {child.pid}")
        self.tool("t1", "sleep")
        sys.stdout.flush()
        sys.exit(3)

    def babbles(self) -> Message:
        """A line of 60 MB, lines that are no messages, updates that nobody knows; then it works on."""
        self.tool("t1", "cat")
        print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": "x" * 60_000_000}))
        for line in ("Warning: old node", "[1, 2]", '{"id": [1], "result": {}}', "[" * 100_000, "", "null"):
            print(line)
        self.update("hologram", depth=3)
        self.notify("session/update", update={"sessionUpdate": "agent_message_chunk", "content": "odd"})
        self.notify("_vendor/thing", secret=1)
        self.say("Still \ud800 here.")
        return end_turn()

    def repeats(self) -> Message:
        """A tool whose whole output is sent again with each line, and a thought in 5,000 pieces."""
        self.tool("t1", "make")
        for lines in range(500):
            self.tool_update("t1", "in_progress", "line\n" * lines)
        for _ in range(5000):
            self.update("agent_thought_chunk", content={"type": "text", "text": "hm "})
        self.tool_update("t1", "completed", "x" * 1_000_000)
        return end_turn()

    def shouts(self) -> Message:
        """A single piece of text of 20 MB."""
        self.say("Done! " * 3_500_000)
        return end_turn()

    def loops(self) -> Message:
        """One tool call after the other, for as long as it is let."""
        for number in itertools.count(1):
            self.tool(f"t{number}", "echo again")
            self.tool_update(f"t{number}", "completed", "again")
            time.sleep(0.05)
            if self.cancelled_meanwhile():
                break
        return {"stopReason": "cancelled"}

    def provider_failed(self) -> Message:
        """What an agent of this world does when its provider is down: as if all was well."""
        self.say("API call failed after 3 retries: HTTP 500: stub simulated error 500")
        return end_turn()

    def provider_failed_silently(self) -> Message:
        self.tool("t1", "echo again")
        return end_turn()

    def refused_by_provider(self) -> Message:
        raise Refused(401, "API key not valid", {"details": {"reason": "API_KEY_INVALID"}})

    def fails(self) -> Message:
        raise Refused(-32603, "Internal error", {"details": "stream disconnected before completion"})

    def stops(self) -> Message:
        """Ends with the stop reason that the prompt says."""
        return {"stopReason": self.prompt}

    def unheard_of(self) -> Message:
        return {"stopReason": "bored"}

    def measures(self) -> Message:
        """Says how long the prompt is, and where it stands."""
        self.say(f"{len(self.prompt)} {Path.cwd()}")
        return end_turn()

    # ---- the protocol

    def main(self, scenario: str) -> None:
        self.scenario = scenario
        while message := self.receive():
            if message.get("method") and "id" in message:
                try:
                    result = self.answer(message["method"], message.get("params") or {})
                    self.send(id=message["id"], result=result)
                except Refused as refused:
                    self.send(id=message["id"], error=refused.error)

    def answer(self, method: str, params: Message) -> Message:
        if method == "initialize":
            return {"protocolVersion": 1, "agentInfo": {"name": "stand-in", "version": "1"}}
        if method == "session/new":
            return self.new_session()
        if method == "session/prompt":
            self.prompt = params["prompt"][0]["text"]
            return getattr(self, self.scenario)()
        return {}

    def new_session(self) -> Message:
        if self.scenario == "opens_no_session":
            time.sleep(300)
        if self.scenario == "needs_login":
            raise Refused(-32000, "Authentication required")
        if self.scenario == "dies_at_once":
            sys.exit(2)
        options = [
            {
                "id": "model",
                "name": "Model",
                "category": "model",
                "type": "select",
                "currentValue": "small",
                "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
            }
        ]
        return {"sessionId": "s1", **({"configOptions": options} if self.scenario == "measures" else {})}

    def receive(self) -> Message:
        line = sys.stdin.readline()
        if not line:
            return {}
        with Path("requests.jsonl").open("a") as file:
            file.write(line)
        return json.loads(line)

    def send(self, **message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def notify(self, method: str, **params: Any) -> None:
        self.send(method=method, params={"sessionId": "s1", **params})

    def call(self, method: str, **params: Any) -> Message:
        number = next(self.numbers)
        self.send(id=number, method=method, params=params)
        while message := self.receive():
            if message.get("id") == number:
                return message
        sys.exit(1)

    def await_cancel(self) -> None:
        while message := self.receive():
            if message.get("method") == "session/cancel":
                return
        sys.exit(1)

    def cancelled_meanwhile(self) -> bool:
        import select

        return bool(select.select([sys.stdin], [], [], 0)[0]) and "cancel" in str(self.receive())

    # ---- what it reports

    def update(self, kind: str, /, **fields: Any) -> None:
        self.notify("session/update", update={"sessionUpdate": kind, **fields})

    def say(self, text: str, message_id: str | None = None) -> None:
        named = {"messageId": message_id} if message_id else {}
        self.update("agent_message_chunk", content={"type": "text", "text": text}, **named)

    def tool(self, name: str, title: str, **fields: Any) -> None:
        self.update("tool_call", toolCallId=name, title=title, kind="execute", status="pending", **fields)

    def tool_update(self, name: str, status: str, output: str) -> None:
        content = [{"type": "content", "content": {"type": "text", "text": output}}]
        self.update("tool_call_update", toolCallId=name, status=status, content=content)

    def ask(self, name: str, *kinds: str) -> Message:
        options = [{"optionId": f"id of {kind}", "name": kind, "kind": kind} for kind in kinds]
        answer = self.call(
            "session/request_permission",
            sessionId="s1",
            toolCall={"toolCallId": name, "title": f"rm -r {name}"},
            options=options,
        )
        return answer["result"]["outcome"]


class Refused(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


def end_turn(**usage: int) -> Message:
    return {"stopReason": "end_turn", **({"usage": usage} if usage else {})}


if __name__ == "__main__":
    Agent().main(sys.argv[1])
