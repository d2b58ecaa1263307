# Replace any history here by one fresh commit of the current tree, byte for byte.
set -e
find . -iname .git -prune -exec rm -rf -- {} +
git init --quiet --template= --initial-branch=main .
mkdir -p .git/info
printf '* -text -filter -ident -working-tree-encoding -eol\n' > .git/info/attributes
git add --all --force .
export GIT_AUTHOR_NAME=selfplay GIT_AUTHOR_EMAIL=selfplay@localhost GIT_AUTHOR_DATE="946684800 +0000"
export GIT_COMMITTER_NAME=selfplay GIT_COMMITTER_EMAIL=selfplay@localhost GIT_COMMITTER_DATE="946684800 +0000"
git -c core.logAllRefUpdates=false -c gc.auto=0 commit --quiet --allow-empty --no-verify --message="The task"
rm -f .git/COMMIT_EDITMSG
