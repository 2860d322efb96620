"""fordjent-serve: take webhooks from the forge and work them."""

from __future__ import annotations

from fordjent.cli import LoggingCommand


class Serve(LoggingCommand):
    """Take webhooks from the forge and work them, until TERM or INT; another one ends it at once."""

    PROGNAME = "fordjent-serve"
    DESCRIPTION_MORE = "Example:  fordjent-serve --config config.toml 2>>fordjent.log"

    def main(self) -> int:
        config = self.load_config()

        import uvloop

        from fordjent.serving import process
        from harness.process import hide_memory

        hide_memory()  # without a sandbox an agent's programs could read the tokens in it
        redactor = self.begin_log(config)
        return uvloop.run(process.serve(config, redactor=redactor))


def main() -> None:
    Serve.start()
