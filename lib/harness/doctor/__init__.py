"""What the doctors of both systems share: findings, checks that end, programs, the machine, how it is shown."""
