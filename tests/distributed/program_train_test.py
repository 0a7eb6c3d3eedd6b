"""`stepslack train` as a user runs it, and with faults done for real."""
import json
import os
import shutil
import signal
import socket
import subprocess
import unittest

from processes import wait_for, workers_of
from tiny import BIN, TinyCase

JOB = """
title = "tiny"
ranks = 2
[data]
source = "embedded"
families = 10
variants = 2
tile = 32
[model]
base_channels = 4
levels = 3
[train]
samples = {samples}
global_batch = 6
eval_every_samples = 48
[comm]
backend = "{backend}"
timeout_seconds = {timeout}
[record]
checkpoint_every_samples = 24
trace_first_step = 3
trace_steps = 4
hash_every_steps = 4
[fault]
{fault}
"""


class TrainCase(TinyCase):
    def write_job(self, samples=96, backend="auto", timeout=20, fault=""):
        (self.folder / "run.toml").write_text(
            JOB.format(samples=samples, backend=backend, timeout=timeout, fault=fault))

    def setUp(self):
        super().setUp()
        self.write_job()

    def command(self, *extra, room=None):
        return [str(BIN / "stepslack"), "train", str(self.folder / "run.toml"), "--room",
                str(room or self.room), *extra]

    def train(self, *extra, room=None):
        return subprocess.run(self.command(*extra, room=room), capture_output=True,
                              text=True, timeout=300)

    def run_id(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()[-1]

    def record(self, done, room=None):
        folder = (room or self.room) / ".stepslack" / "runs" / self.run_id(done)
        return folder, json.loads((folder / "run.json").read_text())


class RunTest(TrainCase):
    def test_the_run_id_comes_last_and_names_a_complete_record(self):
        done = self.train()
        folder, run = self.record(done)
        self.assertEqual(run["schema"], "stepslack.run/1")
        self.assertEqual(run["status"], "done")
        self.assertEqual(run["world_size"], 2)
        self.assertEqual(run["steps"], 18)  # three batches an epoch, the last one short
        for name in ("metrics.jsonl", "trace.rank0.json.gz", "trace.rank1.json.gz",
                     "predictions.npz", "log.txt", "plan.json"):
            self.assertTrue((folder / name).exists(), name)
        self.assertEqual(sorted(run["tags"]), ["dataset", "hardware", "model", "runtime"])

    def test_the_same_job_is_found_again_and_again_trains_the_same_bytes(self):
        first, run = self.record(self.train())
        found, _ = self.record(self.train())
        self.assertEqual(first, found)
        repeated, same = self.record(self.train("--again"))
        self.assertNotEqual(first, repeated)
        self.assertEqual(run["parameters_sha256"], same["parameters_sha256"])
        self.assertEqual(run["predictions_sha256"], same["predictions_sha256"])

    def test_any_number_of_ranks_trains_the_same_model(self):
        losses = {}
        for ranks in (1, 2, 3, 5, 8):
            folder, run = self.record(self.train("--ranks", str(ranks)))
            self.assertEqual(run["world_size"], ranks)
            rows = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
            losses[ranks] = [row["loss"] for row in rows if row["kind"] == "eval"]
        for ranks, values in losses.items():
            self.assertEqual(len(values), len(losses[1]))
            for value, reference in zip(values, losses[1]):
                # Sums in another order, 16 steps of them.
                self.assertAlmostEqual(value, reference, delta=2e-3 * reference,
                                       msg=f"{ranks} ranks")

    def test_measure_reads_the_run(self):
        folder, _ = self.record(self.train())
        done = subprocess.run([str(BIN / "stepslack"), "measure", str(folder), "--format",
                               "json"], capture_output=True, text=True, timeout=60)
        report = json.loads(done.stdout)
        self.assertEqual([rank["rank"] for rank in report["ranks"]], [0, 1])
        for rank in report["ranks"]:
            self.assertEqual(len(rank["steps"]), 4)
            self.assertGreater(rank["phases"]["backward_ns"], 0)
        # What the record keeps beside its traces is no fault of the input.
        self.assertEqual([part for part in report["missing"] if part["part"] == "input"],
                         [])
        # A rank that loses its core inside one is late at its end, and rightly refused.
        collectives = report["collectives"]
        self.assertGreater(collectives["matched"], collectives["refused"])

    def test_without_communication_no_gradient_is_exchanged(self):
        folder, _ = self.record(self.train("--no-comm"))
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
        self.assertEqual({row["comm_bytes"] for row in rows if row["kind"] == "step"}, {0})


class FaultTest(TrainCase):
    def start(self):
        return subprocess.Popen(self.command(), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def mid_run(self, process):
        """Waits until ranks train and a checkpoint is there; their process ids by rank."""
        def ready():
            return (process.poll() is not None or
                    list(self.room.glob(".stepslack/runs/*/checkpoints/*.pt")))

        wait_for(ready, 60)
        self.assertIsNone(process.poll(), "it ended before the fault")
        return {rank: pid for pid, rank in workers_of(self.room)}

    def test_a_killed_rank_is_named_and_the_resumed_run_gives_the_same_bytes(self):
        self.write_job(samples=1200)
        process = self.start()
        os.kill(self.mid_run(process)[1], signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, errors)
        self.assertIn("rank 1 was killed by signal 9", errors)
        status = json.loads(
            next(self.room.glob(".stepslack/runs/*/status.json")).read_text())
        self.assertEqual(status["state"], "failed")
        self.assertIn("signal 9", status["error"] + errors)
        _, resumed = self.record(self.train())
        self.assertEqual(resumed["restarts"], 1)
        _, whole = self.record(self.train(room=self.folder / "other"),
                               self.folder / "other")
        self.assertEqual(whole["restarts"], 0)
        self.assertEqual(resumed["parameters_sha256"], whole["parameters_sha256"])

    def test_a_stopped_rank_is_named_within_the_timeout(self):
        for backend in ("shm", "gloo"):
            with self.subTest(backend=backend):
                self.write_job(samples=6000, timeout=2, backend=backend)
                process = self.start()
                ranks = self.mid_run(process)
                os.kill(ranks[1], signal.SIGSTOP)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 4, errors)
                self.assertIn(f"rank 1 (process {ranks[1]}) is stopped by a signal", errors)
                shutil.rmtree(self.room)

    def test_a_waiting_rank_says_on_request_what_it_waits_for(self):
        self.write_job(samples=6000, timeout=20)
        process = self.start()
        ranks = self.mid_run(process)
        os.kill(ranks[1], signal.SIGSTOP)
        folder = next(self.room.glob(".stepslack/runs/*"))
        dump = folder / "flight.rank0.json"

        def waits():
            os.kill(ranks[0], signal.SIGUSR1)
            if not dump.exists():
                return False
            entries = json.loads(dump.read_text())["entries"]
            return entries and entries[-1]["state"] == "started"

        self.assertTrue(wait_for(waits, 15))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    def test_ranks_that_disagree_about_a_collective_are_named(self):
        for kind in ("skip_collective", "wrong_size", "wrong_dtype"):
            for backend in ("shm", "gloo"):
                with self.subTest(kind=kind, backend=backend):
                    self.write_job(timeout=5, backend=backend,
                                   fault=f'kind = "{kind}"\nrank = 1\nstep = 5')
                    done = self.train()
                    self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                    self.assertIn("rank 1", done.stderr)
                    self.assertIn("all_reduce", done.stderr)
                    shutil.rmtree(self.room)

    def test_a_gradient_that_is_not_finite_ends_the_run_with_its_step(self):
        self.write_job(fault='kind = "nan_gradient"\nrank = 1\nstep = 7')
        done = self.train()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("TRAIN-0021", done.stderr)
        self.assertIn("rank 1, step 7", done.stderr)
        run = json.loads(next(self.room.glob(".stepslack/runs/*/run.json")).read_text())
        self.assertEqual((run["status"], run["steps"]), ("failed", 6))
        self.assertTrue(run["tags"]["model"])

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small disk needs root")
    def test_a_full_disk_is_named_and_what_was_kept_still_loads(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs",
                                  str(disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no tmpfs can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], capture_output=True)
        self.room = disk / "room"
        self.write_job(samples=6000)
        process = self.start()
        self.mid_run(process)
        filler = disk / "filler"
        with open(filler, "wb", buffering=0) as out:
            try:
                while True:
                    out.write(b"\0" * 65536)
            except OSError:
                pass
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 4, errors)
        self.assertIn("No space left on device", errors)
        filler.unlink()
        _, run = self.record(self.train())
        self.assertEqual(run["restarts"], 1)


class LauncherTest(TrainCase):
    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_under_mpirun_the_processes_are_the_ranks(self):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(
            ["mpirun", "-np", "2", "--oversubscribe", *self.command("--backend", "mpi")],
            capture_output=True, text=True, timeout=120, env=environment)
        _, run = self.record(done)
        self.assertEqual(run["world_size"], 2)
        self.assertEqual(run["runtime"]["transport"], "mpi")

    def test_under_torchrun_variables_the_processes_are_the_ranks(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        processes = []
        for rank in range(2):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2",
                               LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2",
                               MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            processes.append(subprocess.Popen(self.command(), env=environment, text=True,
                                              stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE))
        outputs = [process.communicate(timeout=120) for process in processes]
        for process, (_, errors) in zip(processes, outputs):
            self.assertEqual(process.returncode, 0, errors)
        run_id = outputs[0][0].splitlines()[-1]
        run = json.loads(
            (self.room / ".stepslack" / "runs" / run_id / "run.json").read_text())
        self.assertEqual(run["world_size"], 2)


class BadJobTest(TrainCase):
    CASES = [
        ("[train]\noptimiser = 'sgd'", "CONF-0002", "optimizer"),
        ("[train]\noptimizer = 'adamx'", "CONF-0003", "adamw, sgd, lamb"),
        ("[train]\nglobal_batch = 0", "CONF-0003", "from 1 to"),
        ("[train]\nlearning_rate = 'high'", "CONF-0003", "learning_rate"),
        ("[data]\nsource = 'folder'", "CONF-0004", "folder"),
        ("[model]\nname = 'resnet'", "CONF-0003", "unet, fcn, mlp, gnn"),
        ("[comm]\ntimeout_seconds = nan", "CONF-0003", "timeout_seconds"),
        ("[comm\n", "CONF-0001", "run.toml:"),
        ("[record]\nkeep_checkpoints = 0", "CONF-0003", "keep_checkpoints"),
    ]

    def test_every_wrong_key_is_named_with_its_line(self):
        for text, error_id, part in self.CASES:
            with self.subTest(text=text):
                data = "" if "[data]" in text else "[data]\nsource = 'embedded'\n"
                (self.folder / "run.toml").write_text(data + text + "\n")
                done = self.train()
                self.assert_error(done, 2, error_id)
                self.assertIn(part, done.stderr)
                self.assertIn("run.toml:", done.stderr)

    def test_a_missing_job_and_a_bad_rank_count_are_refused(self):
        self.assert_error(self.train("--ranks", "0"), 2, "CLI-0230")
        self.assert_error(self.train("--ranks", "two"), 2, "CLI-0230")
        (self.folder / "run.toml").unlink()
        self.assertIn(self.train().returncode, (2, 3))


if __name__ == "__main__":
    unittest.main()
