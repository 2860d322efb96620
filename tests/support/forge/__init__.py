"""A strict stand-in of a Forgejo server, for tests and the demo.

    with StandIn.start(folder) as forge:
        forge.user("alice", admin=True)
        forge.repository("acme/widget", {"README.md": "# widget"}, collaborators={"fordjent": "write"})
        forge.hook("acme/widget", receiver_url, "a secret")
        number = forge.api_as("alice").open_issue("acme/widget", "Add a greeting")
        ...                      # the code under test, with forge.url and forge.token("fordjent")
        assert forge.strange == []

`recorded/` holds what a real server sent and answered; tests replay all of it against this one.
"""

from tests.support.forge.server import StandIn

__all__ = ["StandIn"]
