"""What collections cost: `python benchmarks/collections.py` runs collection_costs.py, which says what is measured.

The standard library has a module of this name. Scripts of this folder, and all that they import, find this one before
it: then it takes itself out of the way, and they get what they asked for.
"""

import os
import sys

_FOLDER = os.path.dirname(__file__)  # noqa: PTH120  # pathlib imports what this file stands before
if __name__ == "collections":
    _places, sys.path[:] = sys.path[:], [place for place in sys.path if place != _FOLDER]
    del sys.modules["collections"]
    import collections  # noqa: F401  # that of the standard library, which takes the place in sys.modules

    sys.path[:] = _places
elif __name__ == "__main__":
    # behind the standard library
    sys.path.append(sys.path.pop(0))
    from collection_costs import main

    sys.exit(main(*map(int, sys.argv[1:2])))
