#!/usr/bin/env python3
"""Golden command lines: tests/golden/<case>/{cmd,stdout,stderr,code}.

`cmd` is run by the shell in an empty folder with `stepslack` first on PATH, EXAMPLES and
CASE (the case's own folder) set. Paths, times and versions are normalised; a table that
pads a path must be given a relative one, or its width follows the machine. With --update
the expected files are rewritten; review the difference before committing it.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent


def normalise(text, work, build):
    text = text.replace(str(work), "WORK").replace(str(build), "BIN").replace(
        str(SOURCE), "SOURCE")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r"stepslack \d+\.\d+\.\d+", "stepslack VERSION", text)
    return re.sub(r"\(\d[\d. a-z]*\)\n", "(DURATION)\n", text)


def run(case, build, update):
    command = (case / "cmd").read_text()
    with tempfile.TemporaryDirectory() as work:
        environment = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}",
                           EXAMPLES=str(SOURCE / "examples"), CASE=str(case),
                           SOURCE=str(SOURCE),
                           NO_COLOR="1")
        done = subprocess.run(["bash", "-c", command], cwd=work, env=environment,
                              capture_output=True, text=True, timeout=120)
        actual = {"stdout": normalise(done.stdout, work, build),
                  "stderr": normalise(done.stderr, work, build),
                  "code": f"{done.returncode}\n"}
    good = True
    for name, text in actual.items():
        path = case / name
        if update:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            good = False
            expected = path.read_text() if path.exists() else "(absent)"
            print(f"{case.name}: {name} differs\n--- expected\n{expected}--- actual\n{text}")
    return good


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    names = [name for name in sys.argv[2:] if not name.startswith("--")]
    update = "--update" in sys.argv
    cases = sorted(path.parent for path in HERE.glob("*/cmd")
                   if not names or path.parent.name in names)
    if not cases:
        print("no golden case found")
        return 1
    bad = [case.name for case in cases if not run(case, build, update)]
    print(f"{len(cases) - len(bad)} of {len(cases)} golden cases agree")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
