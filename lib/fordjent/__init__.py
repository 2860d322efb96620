"""Fordjent: a harness driven by Forgejo: webhooks in, a session per issue or pull request, a pull request out."""
