"""Learning as pure functions on numbers: rewards. Imports nothing of the other rooms, and no tensor library."""
