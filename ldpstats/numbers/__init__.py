"""Numbers: arrays and their checks, exact probabilities, random draws from them, and the hot loops."""
