# Turns `go test -json` events into records. Input: lines FILE:func NAME( with the file of each test; then the events.
# Ids are compared and written as JSON spells them. -v module=PATH, -v chosen=FILE (excluded and wanted ids, one a line).
function plain(name) {
    gsub(/\\u003c/, "<", name); gsub(/\\u003e/, ">", name); gsub(/\\u0026/, "\\&", name)
    return name
}
BEGIN {
    while ((getline line < chosen) > 0) {
        mark = substr(line, 1, 1); id = substr(line, 3)
        if (mark == "-") excluded[id] = 1
        if (mark == "+") { only[id] = 1; some = 1 }
    }
}
FILENAME == ARGV[1] {
    at = index($0, ":func "); file = substr($0, 1, at - 1); name = substr($0, at + 6); sub(/[^A-Za-z0-9_].*/, "", name)
    folder = file; if (!sub(/\/[^\/]*$/, "", folder)) folder = "."
    files[folder, name] = file
    next
}
match($0, /^\{"Time":"[^"]*","Action":"(run|pass|fail|skip)","Package":"[^"]*","Test":"/) {
    head = substr($0, 1, RLENGTH); rest = substr($0, RLENGTH + 1)
    split(head, part, "\""); action = part[8]; package = part[12]
    seconds = ""
    if (match(rest, /","Elapsed":[0-9.e+-]*\}$/)) seconds = substr(rest, RSTART + 12, RLENGTH - 13)
    else if (!match(rest, /"\}$/)) next
    test = plain(substr(rest, 1, RSTART - 1))
    folder = package == module ? "." : substr(package, length(module) + 2)
    top = test; sub(/\/.*/, "", top)
    if (!((folder, top) in files)) next
    id = files[folder, top] "::" test
    if (id in excluded || (some && !(id in only))) next
    outcome = action == "pass" ? "passed" : action == "fail" ? "failed" : "skipped"
    if (action == "run") printf "SELFPLAY {\"id\": \"%s\"}\n", id
    else printf "SELFPLAY {\"id\": \"%s\", \"outcome\": \"%s\", \"seconds\": %s}\n", id, outcome, seconds == "" ? 0 : seconds
}
