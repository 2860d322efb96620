"""Numbered changes of the schema, by Alembic."""
