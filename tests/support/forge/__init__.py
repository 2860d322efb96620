"""A strict stand-in of a Forgejo server, for tests and the demo."""

from tests.support.forge.server import StandIn

__all__ = ["StandIn"]
