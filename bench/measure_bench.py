#!/usr/bin/env python3
"""Speed and memory of `stepslack measure`, as ratios to gunzip and simdjson beside it.

    bench/measure_bench.py BUILD [--trace FILE] [--ranks 64] [--repeats 5]

Makes a set of traces from one (a synthetic one without --trace) with the rank rewritten,
then runs in turn, `repeats` times: `gunzip -c` of all files, simdjson's parse of the
inflated files, and measure. Prints CPU seconds (median), the ratio to the two yardsticks
together, wall seconds and peak memory."""
import argparse
import gzip
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile
import time


def synthetic_trace(events=40_000):
    """One rank of the shape that Kineto writes: operators, launches, kernels, flows."""
    out = ['{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, '
           '"world_size": 64}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [']
    rows = []
    for i in range(events // 4):
        t = i * 17.251
        rows.append('  {\n    "ph": "X", "cat": "cpu_op", "name": "aten::op%d", "pid": 11, '
                    '"tid": 11,\n    "ts": %.3f, "dur": 9.125,\n    "args": {\n      '
                    '"External id": %d,"Record function id": 0, "Concrete Inputs": ["", ""], '
                    '"Input type": ["float", "float"], "Input Dims": [[64, 256, 14, 14], '
                    '[64, 256, 14, 14]]\n    }\n  }' % (i % 60, t, i + 1))
        rows.append('  {\n    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", '
                    '"pid": 11, "tid": 11,\n    "ts": %.3f, "dur": 4.5,\n    "args": {\n      '
                    '"External id": %d, "cbid": 211, "correlation": %d\n    }\n  }'
                    % (t + 1, i + 1, i + 1))
        rows.append('  {\n    "ph": "X", "cat": "kernel", "name": "void kernel_%d<float, 4>'
                    '(int, float*, float const*)", "pid": 0, "tid": 7,\n    "ts": %.3f, '
                    '"dur": 8.375,\n    "args": {\n      "External id": %d, "queued": 0, '
                    '"device": 0, "context": 1, "stream": 7, "correlation": %d, "grid": '
                    '[32, 1, 1], "block": [256, 1, 1]\n    }\n  }'
                    % (i % 80, t + 6, i + 1, i + 1))
        rows.append('  {\n    "ph": "s", "id": %d, "pid": 11, "tid": 11, "ts": %.3f,\n    '
                    '"cat": "ac2g", "name": "ac2g"\n  }' % (i + 1, t + 1))
    for step in range(4):
        rows.append('  {\n    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", '
                    '"pid": 11, "tid": 11, "ts": %.3f, "dur": %.3f\n  }'
                    % (step, step * events * 1.0782, events * 1.0782))
    out.append(",\n".join(rows))
    out.append("\n]}\n")
    return "".join(out).encode()


def make_set(folder, text, ranks):
    for rank in range(ranks):
        own = re.sub(rb'"rank": \d+', b'"rank": %d' % rank, text, count=1)
        (folder / f"rank{rank}.json").write_bytes(own)
        with gzip.open(folder / f"rank{rank}.json.gz", "wb", 6) as out:
            out.write(own)


def timed(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    return cpu, wall


def peak_kilobytes(command):
    """Of one more run, alone in a child that reports its own."""
    script = ("import resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n")
    done = subprocess.run(["python3", "-c", script, *command], check=True,
                          capture_output=True, text=True)
    return int(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--trace", help="a Kineto trace, plain or .gz")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    if options.trace:
        raw = pathlib.Path(options.trace).read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    else:
        text = synthetic_trace()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_set(folder, text, options.ranks)
        packed = [str(p) for p in sorted(folder.glob("*.gz"))]
        plain = [str(p) for p in sorted(folder.glob("*.json"))]
        commands = {"gunzip": ["gunzip", "-c", *packed],
                    "measure": [str(build / "stepslack"), "measure", *packed,
                                "--format", "json"]}
        simdjson = build / "bench" / "simdjson_parse"
        if simdjson.exists():
            commands["simdjson"] = [str(simdjson), *plain]
        times = {key: [] for key in commands}
        for _ in range(options.repeats):
            for key, command in commands.items():
                times[key].append(timed(command))
        size = sum(os.path.getsize(p) for p in plain)
        cpu = {key: statistics.median(t[0] for t in runs) for key, runs in times.items()}
        wall = statistics.median(t[1] for t in times["measure"])
        print(f"{options.ranks} ranks, {size / 1e6:.0f} MB inflated, "
              f"{options.repeats} interleaved repeats, medians")
        for key, seconds in cpu.items():
            print(f"  {key:<9} {seconds:7.3f} CPU s  {size / 1e6 / seconds:7.0f} MB/s")
        yardstick = cpu["gunzip"] + cpu.get("simdjson", 0.0)
        names = "gunzip + simdjson" if "simdjson" in cpu else "gunzip (simdjson not built)"
        print(f"  ratio     {cpu['measure'] / yardstick:7.2f} of {names}")
        print(f"  wall      {wall:7.3f} s")
        print(f"  peak      {peak_kilobytes(commands['measure']) / 1024:7.1f} MiB")


if __name__ == "__main__":
    main()
