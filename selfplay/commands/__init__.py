"""What each command does, as one function that tells a watcher how far it is. Knows no terminal."""
