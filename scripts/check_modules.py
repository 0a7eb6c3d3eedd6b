#!/usr/bin/env python3
"""Module arrows: no cycle, and no #include of a module that is not listed in USES."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
uses = {}
for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    arrow = re.match(r"\s*(\w+) -> (\w+);", line)
    node = re.match(r"\s*(\w+);", line)
    if arrow:
        uses.setdefault(arrow[1], set()).add(arrow[2])
    elif node:
        uses.setdefault(node[1], set())

bad = 0


def reach(module, seen=()):
    global bad
    if module in seen:
        print("cycle: " + " -> ".join(seen + (module,)))
        bad = 1
        return set()
    below = set(uses[module])
    for used in uses[module]:
        below |= reach(used, seen + (module,))
    return below


for module in sorted(uses):
    allowed = reach(module) | {module}
    for path in sorted((ROOT / "src" / module).rglob("*.[hc]*")):
        if "/test/" in str(path):
            continue
        for found in re.findall(r'#include "stepslack/(\w+)/', path.read_text(encoding="utf-8")):
            if found not in allowed:
                print(f"{path.relative_to(ROOT)} includes {found}, which {module} may not use")
                bad = 1
print(f"modules: {len(uses)}, arrows: {sum(map(len, uses.values()))}")
sys.exit(bad)
