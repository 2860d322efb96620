"""The server of the pages, until it is interrupted."""

from __future__ import annotations

import secrets
import socket

import uvicorn

from ent_agent.config import Config
from ent_agent.dashboard import app
from harness.errors import TryLater
from harness.pages.guard import is_loopback

CONNECTIONS = 64


def serve(config: Config, host: str, port: int) -> None:
    """Says where it is first. On an address that others can reach, that is a link with a token made for this start.

    Raises:
        TryLater: the address cannot be had.
    """
    is_here = host == "localhost" or is_loopback(host)
    token = "" if is_here else secrets.token_urlsafe(24)
    listener = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}/"
    print(f"{url}login#token={token}" if token else url, flush=True)
    uvicorn.Server(
        uvicorn.Config(
            app.make(config, token),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,  # anybody could claim to be at this machine
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=2,
        )
    ).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        hint = "take another --host or --port"
        raise TryLater(
            f"{host}:{port}: {error.strerror or error}", hint=hint, code="address_in_use"
        ) from error
