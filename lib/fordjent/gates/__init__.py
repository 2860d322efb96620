"""What stands between an agent's branch and a pull request, in order; each gate is a module with one function."""
