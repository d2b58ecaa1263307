# The diff of two trees, with our own git directory: `diff.sh base` records the tree, `diff.sh end` prints the diff.
set -e
store=/tmp/selfplay-store
[ "$1" != base ] || git init --quiet --bare --template= "$store"
export GIT_DIR="$store" GIT_WORK_TREE=/testbed
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.bigFileThreshold GIT_CONFIG_VALUE_0=32m  # larger ones as a stream
if [ "$1" = base ]; then
  mkdir -p "$GIT_DIR/info"
  printf '* -text -filter -ident -working-tree-encoding -eol !diff !merge\n' > "$GIT_DIR/info/attributes"
  printf '__pycache__/\n.pytest_cache/\n*.pyc\n' > "$GIT_DIR/info/exclude"
  git add --all --force .
  git write-tree > /tmp/selfplay-base
else
  git -c core.protectNTFS=false -c core.protectHFS=false add --all .  # names that are odd on other systems alone
  git diff --cached --binary --no-renames --no-ext-diff --no-textconv --no-color --full-index \
    --src-prefix=a/ --dst-prefix=b/ "$(cat /tmp/selfplay-base)" > /tmp/selfplay-diff
  git ls-files --others --ignored --exclude-standard -z > /tmp/selfplay-ignored
fi
