"""What each command does, as one function that reports its progress to a watcher, without a terminal."""
