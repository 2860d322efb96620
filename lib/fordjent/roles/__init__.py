"""What a session acts as: pm, implementer, reviewer, tester, devops."""
