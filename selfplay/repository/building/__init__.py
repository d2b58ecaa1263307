"""An environment for a tree, built once in a sandbox that reaches the package indexes alone."""
