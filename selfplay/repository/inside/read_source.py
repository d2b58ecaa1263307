"""Runs in a sandbox, as the main program of a zip with the modules it needs: reads the mounted source.

The order arrives on standard input as JSON; the answer is a file. The first argument is `read`, to fetch, tidy, check
out and describe, or a commit that was read before, to write its `.git` layer.
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
