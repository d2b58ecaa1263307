# Remove leftovers of tools that no project keeps: compiled caches and results of earlier runs.
set -e
find . -path ./.git -prune -o -type d \( -name __pycache__ -o -name .pytest_cache -o -name .mypy_cache \
  -o -name .ruff_cache -o -name .hypothesis -o -name htmlcov -o -name .nyc_output -o -name .tox -o -name .nox \
  -o -name .eggs \) -prune -print0 > "$1"
find . -path ./.git -prune -o \( -name '*.py[co]' -o -name .coverage -o -name '.coverage.*' \) -print0 >> "$1"
xargs -0 -r rm -rf -- < "$1"
rm -f "$1"
