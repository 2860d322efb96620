"""fordjent-serve: take webhooks from the forge and work them."""

from __future__ import annotations

from fordjent.cli import Command


class Serve(Command):
    """Take webhooks from the forge and work them, until TERM or INT; another one ends it at once."""

    PROGNAME = "fordjent-serve"
    DESCRIPTION_MORE = "Example:  fordjent-serve --config config.toml 2>>fordjent.log"

    def main(self) -> int:
        config = self.load_config()

        import uvloop

        from fordjent.context import redactor_of
        from fordjent.serving import logs, process
        from harness import process as process_of_ours

        process_of_ours.hide_memory()  # without a sandbox an agent's programs could read the tokens in it
        logs.begin(config.log, redactor_of(config), verbose=bool(self.verbose))
        return uvloop.run(process.serve(config))


def main() -> None:
    Serve.start()
