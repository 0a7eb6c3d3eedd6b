#!/usr/bin/env python3
"""Message ids are unique in the tree and docs/messages.md lists exactly those.

With --update, rewrites docs/messages.md from the sources.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOC = ROOT / "docs" / "messages.md"
ID = re.compile(r'"([A-Z]+-\d{4})"')
HEAD = """# Messages

Every error carries one of these ids. `stepslack` prints what happened, where, and the next
step after `help:`. This list is made by `scripts/check_messages.py --update`.

| id | where it is raised |
|---|---|
"""


def collect():
    places = collections.defaultdict(list)
    for path in sorted(ROOT.glob("src/*/src/**/*.cc")) + sorted(ROOT.glob("src/*/src/**/*.h")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for found in ID.findall(line):
                places[found].append(f"{path.relative_to(ROOT)}:{number}")
    return places


def main():
    places = collect()
    text = HEAD + "".join(
        f"| {key} | `{places[key][0].rsplit(':', 1)[0]}` |\n" for key in sorted(places))
    if "--update" in sys.argv:
        DOC.write_text(text, encoding="utf-8")
        return 0
    bad = 0
    for key, where in sorted(places.items()):
        if len(where) > 1:
            print(f"{key} is raised at more than one place: {', '.join(where)}")
            bad = 1
    if not DOC.exists() or DOC.read_text(encoding="utf-8") != text:
        print("docs/messages.md is not up to date: scripts/check_messages.py --update")
        bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
