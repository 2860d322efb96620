"""Webhook deliveries: verified, read, and made into events."""
