"""What Alembic runs: the numbered changes, over the connection that `store.migrating` holds."""

from alembic import context

from fordjent.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by making it anew
)
context.run_migrations()
