"""What models have cost: summed by model, role, repository, session or day, and set against the budgets."""
