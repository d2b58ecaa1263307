"""`python -m selfplay`: the command without its script."""

from selfplay.cli import main

main()
