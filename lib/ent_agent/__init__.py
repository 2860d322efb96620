"""ent-agent: an outer loop that attaches an agent CLI to a repository tracked with entomologist."""
