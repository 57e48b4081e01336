"""Published tests of independence, as their papers have them: for comparison, not for use."""
