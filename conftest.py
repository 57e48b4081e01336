"""For pytest, which imports one module from its file: rooms with a function of a module's name are imported before."""

import ldpstats.consistency
import ldpstats.networks  # noqa: F401
