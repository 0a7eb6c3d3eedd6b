"""Studies of a command: kill -9 at many moments, timeouts, refusals, queues."""
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

from processes import wait_for

BIN = pathlib.Path(os.environ["STEPSLACK_BIN"])

# A training that notes every execution of itself, then writes its log.
TRAIN = r"""
echo "$1 $2" >> count
loss=$(awk -v lr="$2" -v seed="$1" 'BEGIN { print (lr - 0.3) ^ 2 + seed / 1000 }')
sleep 0.05
for step in 1 2 3; do
  echo "{\"step\": $step, \"loss\": $loss, \"timestamp\": 170000000$step}"
done
"""

ARMS = """
title = "two rates"
kind = "arms"
seeds = [1, 2, 3]
[run]
command = "sh train.sh {seed} {lr}"
timeout_seconds = 20
[objective]
metric = "loss"
[[arm]]
name = "a"
values = {lr = 0.1}
[[arm]]
name = "b"
values = {lr = 0.25}
"""

SWEEP = """
title = "search"
kind = "sweep"
[run]
command = "sh train.sh {seed} {lr}"
[objective]
metric = "loss"
[baseline]
lr = 0.9
[sweep]
method = "bayes"
trials = 8
fresh_seeds = 2
[sweep.space.lr]
low = 0.01
high = 1
[checks]
"""

# A queue of one machine: sbatch starts the job behind its own back.
SBATCH = """#!/bin/sh
for word; do script=$word; done
sh "$script" > /dev/null 2>&1 &
echo $! > job_number
echo "$!;cluster"
"""
SQUEUE = """#!/bin/sh
[ -n "$(pgrep -f command.sh)" ] && echo RUNNING
exit 0
"""


class StudyTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "train.sh").write_text(TRAIN)

    def command(self, text, *flags):
        (self.folder / "study.toml").write_text(text)
        return [BIN / "stepslack", "study", "study.toml", "--format", "json", *flags]

    def study(self, text, *flags, environment=None):
        return subprocess.run(
            self.command(text, *flags), cwd=self.folder, capture_output=True, text=True,
            timeout=120, check=False, env={**os.environ, **(environment or {})})

    def executions(self):
        path = self.folder / "count"
        return sorted(path.read_text().splitlines()) if path.exists() else []

    def test_arms_are_run_once_each_and_judged(self):
        done = self.study(ARMS)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(len(self.executions()), 7)  # six, and the same seed twice
        self.assertEqual([t["arm"] for t in report["trials"][:6]], list("abbaab"))
        effect = report["arms"][1]["effect"]
        self.assertEqual(effect["verdict"], "improved")
        self.assertAlmostEqual(effect["difference"]["value"], 0.0025 - 0.04, places=6)
        self.assertEqual(report["checks"][0]["verdict"], "passed")

    def test_killed_at_any_moment_nothing_is_run_twice_and_nothing_is_lost(self):
        whole = json.loads(self.study(SWEEP, "--room", "other").stdout)
        expected = self.executions()
        (self.folder / "count").unlink()
        random.seed(7)
        kills = 0
        for _ in range(12):
            with subprocess.Popen(self.command(SWEEP), cwd=self.folder,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                time.sleep(random.uniform(0.02, 0.25))
                kills += process.poll() is None
                process.send_signal(signal.SIGKILL)
        self.assertGreater(kills, 3)
        done = self.study(SWEEP)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(self.executions(), expected)
        for ours, theirs in zip(report["trials"], whole["trials"]):
            self.assertEqual(ours["id"], theirs["id"])
            self.assertEqual(ours["objective"], theirs["objective"])
        self.assertEqual(report["search"]["best"], whole["search"]["best"])

    def test_failures_and_timeouts_are_outcomes(self):
        (self.folder / "train.sh").write_text(
            'echo "$1 $2" >> count\n[ "$1" = 2 ] && exit 9\n'
            '[ "$1" = 3 ] && sleep 60\necho "{\\"step\\": 1, \\"loss\\": $2}"\n'
            'echo "{\\"step\\": 2, \\"loss\\": $2}"\n')
        text = ARMS.replace("timeout_seconds = 20", "timeout_seconds = 0.5")
        report = json.loads(self.study(text, "--jobs", "2").stdout)
        by_seed = {t["seed"]: t["status"] for t in report["trials"]}
        self.assertEqual(by_seed, {1: "done", 2: "failed", 3: "timeout"})
        self.assertEqual(len(self.executions()), 7)
        self.study(text)  # outcomes are kept ...
        self.assertEqual(len(self.executions()), 7)
        self.study(text, "--retry-failed")  # ... until they are asked for again
        self.assertEqual(len(self.executions()), 11)

    def test_a_baseline_that_does_not_reproduce_is_not_tuned(self):
        (self.folder / "train.sh").write_text(
            'echo "$1 $2" >> count\nn=$(wc -l < count)\n'
            'for s in 1 2; do echo "{\\"step\\": $s, \\"loss\\": $n}"; done\n')
        done = self.study(SWEEP)
        self.assertEqual(done.returncode, 1)
        report = json.loads(done.stdout)
        self.assertTrue(report["refused"])
        self.assertIn("loss at step 1: 1 and 2", report["checks"][0]["text"])
        self.assertEqual(len(self.executions()), 2)

    def test_a_baseline_far_from_its_known_value_is_not_tuned(self):
        done = self.study(SWEEP + "baseline = 0.1\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["checks"][1]["verdict"], "finding")

    def test_interrupt_ends_the_command_and_the_next_start_goes_on(self):
        (self.folder / "train.sh").write_text(TRAIN.replace("sleep 0.05", "sleep 0.4"))
        with subprocess.Popen(self.command(ARMS), cwd=self.folder,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            self.assertTrue(wait_for(lambda: len(self.executions()) == 2, 20))
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(30), 130)
        before = self.executions()
        self.assertEqual(self.study(ARMS).returncode, 0)
        # The one that was interrupted is the only one to be run again.
        self.assertEqual(len(self.executions()), 8)
        self.assertTrue(set(before) <= set(self.executions()))

    def test_the_same_file_runs_through_a_queue(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE)):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        text = ARMS.replace("[objective]",
                            'where = "slurm"\nslurm_poll_seconds = 0.6\n[objective]')
        path = {"PATH": f"{tools}:{os.environ['PATH']}"}
        done = self.study(text, environment=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.executions()), 7)
        script = next(self.folder.glob("room/.stepslack/trials/*/command.sh")).read_text()
        self.assertIn("#SBATCH --ntasks=1", script)
        self.assertIn("#SBATCH --job-name=stepslack-", script)

    def test_a_queue_that_refuses_is_an_error_of_the_environment(self):
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "sbatch").write_text("#!/bin/sh\necho no such partition >&2\nexit 1\n")
        (tools / "sbatch").chmod(0o755)
        (tools / "squeue").write_text("#!/bin/sh\nexit 0\n")
        (tools / "squeue").chmod(0o755)
        text = ARMS.replace("[objective]", 'where = "slurm"\n[objective]')
        done = self.study(text, environment={"PATH": f"{tools}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 4)
        self.assertIn("STUDY-0203", done.stderr)
        self.assertIn("no such partition", done.stderr)

    def test_a_misspelt_key_is_named_with_its_line(self):
        done = self.study(ARMS.replace("seeds", "sedes"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("study.toml:4", done.stderr)


if __name__ == "__main__":
    unittest.main()
