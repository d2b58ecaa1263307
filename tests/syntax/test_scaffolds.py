"""What a removal in JavaScript or Go leaves standing, and what it does not."""

import pytest

from selfplay.syntax.scaffolds import scaffolds

LIST = """function kept(items, limit) {
  const found = [];
  for (const item of items) {
    if (item > limit) found.push(item);
  }
  return found.join();
}
"""
GO = """package p

func Kept(items []string, most int) ([]string, error) {
	var found []string
	seen := map[string]bool{}
	for _, item := range items {
		if seen[item] || len(item) > most {
			continue
		}
		seen[item] = true
		found = append(found, item)
	}
	total, err := check(found)
	if err != nil {
		return nil, err
	}
	return found[:total], nil
}
"""


@pytest.mark.parametrize(
    ("language", "text", "gone", "instead", "said"),
    [
        ("javascript", LIST, "    if (item > limit) found.push(item);\n", "    log(item, limit);\n",
         ["kept no longer sets found"]),
        ("javascript", LIST, "if (item > limit) ", "", ["the parameter kept.limit is no longer read"]),
        ("javascript", LIST, "  return found.join();\n", "", ["kept fills found for nothing"]),
        ("javascript", LIST, "found.push(item);", "found.push(item, item);", []),
        ("javascript", LIST, "  return found", "  if (limit) {\n    return found.join();\n  }\n  return found",
         ["nothing depends on if (limit) in kept"]),
        ("javascript", LIST, "found.push(item);", "fill(found, item);", []),
        ("javascript", LIST, "    if (item > limit) found.push(item);\n",
         "    if (item > limit) found.push(item);\n    break;\n",
         ["nothing depends on for (const item of items) in kept"]),
        ("go", GO, " || len(item) > most", "", ["the parameter Kept.most is no longer read"]),
        ("go", GO, "\t\tseen[item] = true\n", "", ["Kept no longer sets seen"]),
        ("go", GO, "\t\tfound = append(found, item)\n", "", ["Kept no longer sets found"]),
        ("go", GO, "seen[item] || ", "", ["Kept fills seen for nothing"]),
        ("go", GO, "\ttotal, err := check(found)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n",
         "\ttotal, _ := check(found)\n", ["nothing depends on total, _ := check(found) in Kept"]),
        ("go", GO, "\t\tseen[item] = true\n", "\t\tmark(&seen, item)\n", []),
        ("go", GO, "\t\tseen[item] = true\n", "\t\tmark(seen, item)\n", []),
    ],
)  # fmt: skip
def test_what_is_left_standing(language: str, text: str, gone: str, instead: str, said: list[str]) -> None:
    assert gone in text
    found = scaffolds(language, text, text.replace(gone, instead, 1))
    assert [one for one in found if one in said] == said and (said or not found)


def test_what_stood_there_before_is_no_fault() -> None:
    text = LIST.replace("if (item > limit) ", "")
    assert scaffolds("javascript", text, text.replace("found.join()", "found")) == []


def test_the_same_name_of_an_inner_function_does_not_read_a_parameter() -> None:
    text = "function f(x, y) {\n  use(x);\n  return (x) => g(x, y);\n}\n"
    assert scaffolds("javascript", text, text.replace("  use(x);\n", "")) == ["the parameter f.x is no longer read"]
