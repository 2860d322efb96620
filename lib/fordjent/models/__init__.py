"""Calls to language models: one protocol, the OpenAI-compatible endpoint and a scripted one."""
