#!/usr/bin/env python3
"""File budgets of docs/style.md: median 150 lines, p90 500, hard stop 800."""
import sys

MEDIAN, P90, HARD = 150, 500, 800

sizes = sorted((sum(1 for _ in open(path, encoding="utf-8")), path) for path in sys.argv[1:])
lines = [size for size, _ in sizes]
offenders = [(size, path) for size, path in sizes if size > HARD]
for size, path in offenders:
    print(f"{path}: {size} lines, more than {HARD}")
median = lines[len(lines) // 2]
p90 = lines[min(len(lines) - 1, len(lines) * 9 // 10)]
print(f"sizes: {len(lines)} files, median {median}, p90 {p90}, largest {lines[-1]}")
if median > MEDIAN or p90 > P90:
    print(f"budget exceeded: median {MEDIAN}, p90 {P90}")
    sys.exit(1)
sys.exit(1 if offenders else 0)
