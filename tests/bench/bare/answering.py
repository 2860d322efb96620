"""A server that reads a body and answers, and does nothing else: what Starlette and uvicorn cost by themselves."""

import asyncio
import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


async def answer(request: Request) -> JSONResponse:
    return JSONResponse({"status": "accepted", "length": len(await request.body())})


def main() -> None:
    import uvloop

    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/acp/v1/events", answer, methods=["POST"])])
    config = uvicorn.Config(app, http="httptools", lifespan="off", log_config=None, access_log=False)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
