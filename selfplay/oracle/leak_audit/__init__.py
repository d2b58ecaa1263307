"""Does the solver's world hold a copy of the answer? What is searched for, and where."""
