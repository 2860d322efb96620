"""Forgejo's REST API: one function per endpoint, typed answers and errors."""
