"""What must outlive the process: the database, one module for the rows of each part."""
