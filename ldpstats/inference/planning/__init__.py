"""Planning: power, sample size, and the choice of a mechanism before anybody is asked."""
