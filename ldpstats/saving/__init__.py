"""Saving: objects as plain values, with an envelope that shows damage, in files that are written whole."""
