"""Attacks: what a mechanism is caught revealing, and how far forged reports move tables and tests."""
