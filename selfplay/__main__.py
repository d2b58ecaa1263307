"""`python -m selfplay`: the command without its script.

Python puts the current folder first in the path then, and it may be a stranger's checkout, with modules named as ours.
"""

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from selfplay.cli import main

main()
