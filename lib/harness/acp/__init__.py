"""A client of the Agent Client Protocol as a command: one prompt on stdin, JSON lines on stdout.

`python -m harness.acp [OPTIONS] -- AGENT COMMAND…` turns any agent that speaks the protocol
(https://agentclientprotocol.com) into an ordinary command line program: it starts the agent,
opens a session in the current folder, sends the prompt, answers what the agent asks, shows
what it does, and ends with one line of `"type": "result"` and an exit code (`outcome`).
"""
