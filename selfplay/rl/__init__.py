"""Learning as pure functions on numbers: rewards. Imports no other room of the package, and no tensor library."""
