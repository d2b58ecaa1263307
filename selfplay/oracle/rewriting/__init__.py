"""Rewrites test files (canary tests, renamed copies, false claims) and files of the program (marks, mutants, parts).
One module a language and purpose."""
