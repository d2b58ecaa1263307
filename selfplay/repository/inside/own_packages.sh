# Runs in a build's tree. Links of node_modules to packages of the tree itself (workspaces) become absolute, since
# node_modules is moved. Copies of the project itself, which its other packages need, become such links if the project
# can be loaded from the tree: a copy would show the original beside the bug. One of another major version stays, since
# what needs it does not run on the tree's: the leak audit tells whether it holds what a bug took away.
root=$(pwd -P)
find node_modules -maxdepth 3 -type l -print0 | while IFS= read -r -d '' link; do
    to=$(readlink -f -- "$link") || continue
    case $to in
        "$root"/node_modules/*) ;;
        "$root" | "$root"/*) ln -sfn -- "$to" "$link" ;;
    esac
done
name=$(node -p 'require("./package.json").name || ""' 2>/dev/null)
case $name in '' | */*/* | .* | /*) exit 0 ;; esac
other_major() {
    node -e '
        const [own, other] = process.argv.slice(1).map((folder) => require(folder + "/package.json").version || "");
        const major = (version) => (/^(0\.\d+|[1-9]\d*)\./.exec(version) || [])[1];
        process.exit(major(own) && major(other) && !own.startsWith("0.0.") && major(own) !== major(other) ? 0 : 1);
    ' "$root" "$root/$1" 2>/dev/null
}
find node_modules -type d -path "*node_modules/$name" -prune -print0 | while IFS= read -r -d '' copy; do
    if other_major "$copy"; then
        echo "a copy of the project is of another version and stays: $copy"
    elif node -e 'require(process.argv[1])' "$root" >/dev/null 2>&1; then
        rm -rf -- "$copy" && ln -sfn -- "$root" "$copy"
        echo "a copy of the project is a link now: $copy"
    else
        echo "a copy of the project stays, since the project cannot be loaded: $copy"
    fi
done
