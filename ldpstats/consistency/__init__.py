"""Consistency: noisy tables that overlap, made to agree; and tables that nobody collected, put together from them."""
