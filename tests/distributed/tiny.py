"""A review small enough for a test: every stage real, seconds instead of minutes."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["STEPSLACK_BIN"])
SOURCE = pathlib.Path(os.environ["STEPSLACK_SOURCE"])

REVIEW = """
title = "tiny"
path = "test/tiny"
[decision]
workflow = "order blocks for repair"
limits = "never replaces sign-off"
[owners]
training_infra_owner = "a"
cluster_engineer = "b"
ml_platform_lead = "c"
[rollback]
trigger = "recall falls"
steps = ["use the solver's order"]
[data]
{data}
tile = 32
[split]
policy = "by_group"
test_share = 0.25
validation_share = 0.2
min_test_groups = 2
[train]
ranks = {ranks}
seeds = [1, 2, 3]
base_channels = 4
levels = 3
samples = {samples}
global_batch = 8
warmup_samples = 16
eval_every_samples = 48
target_relative_mae = 5.0
[tune]
learning_rates = [1e-3]
samples = 32
[scale]
repeats = 2
steps = 6
batch = 4
[[requirement]]
id = "leak"
title = "Related test maps"
metric = "leaked_rows"
at_most = 0
owner = "ml_platform_lead"
gate = "pilot"
[[requirement]]
id = "mae"
title = "Relative MAE"
metric = "relative_mae"
at_most = {bound}
owner = "ml_platform_lead"
[[requirement]]
id = "efficiency"
title = "Strong scaling"
metric = "parallel_efficiency"
at_least = 0.01
owner = "training_infra_owner"
"""

EMBEDDED = 'source = "embedded"\nfamilies = 8\nvariants = 2'


class TinyCase(unittest.TestCase):
    """Gives each test a folder with a review.toml and a room inside."""

    def setUp(self):
        self.folder_handle = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder_handle.cleanup)
        self.folder = pathlib.Path(self.folder_handle.name)
        self.room = self.folder / "room"
        self.write_config()

    def write_config(self, data=EMBEDDED, ranks=2, samples=96, bound=100.0):
        (self.folder / "review.toml").write_text(
            REVIEW.format(data=data, ranks=ranks, samples=samples, bound=bound))

    def command(self, *extra):
        return [str(BIN / "stepslack"), "review", str(self.folder / "review.toml"),
                "--room", str(self.room), *extra]

    def review(self, *extra):
        return subprocess.run(self.command(*extra), capture_output=True, text=True,
                              timeout=400)

    def result(self):
        return json.loads((self.room / "review.json").read_text())

    def assert_error(self, done, code, error_id):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(f"error[{error_id}]", done.stderr)
        self.assertIn("help: ", done.stderr)


def npy(values, shape):
    """Bytes of a float32 .npy file, written by hand so that no package is needed."""
    dims = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({dims}), }}"
    header += " " * ((64 - (10 + len(header) + 1) % 64) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}f", *values))
