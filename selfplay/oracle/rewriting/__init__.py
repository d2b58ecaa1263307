"""Rewrites test files: canary tests, renamed copies, false claims. One module a language and purpose."""
