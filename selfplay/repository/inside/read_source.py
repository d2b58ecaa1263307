"""Runs in a sandbox, as the main program of a zip with the modules it needs: reads the source that it is shown.

The order arrives on standard input as JSON, the answer is a file. The first argument: `read`, to fetch, tidy, check out
and describe; else the commit whose `.git` layer is to be written, of what was read before.
"""

import sys
from pathlib import Path

from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.layers import write_history
from selfplay.repository.fetching.reading import HISTORY, TREE, WORK

if sys.argv[1] == "read":
    from selfplay.repository.fetching.reader_main import main

    main()
else:
    write_history(GitDir(Path(WORK, "store")), sys.argv[1], Path(TREE), Path(HISTORY))
