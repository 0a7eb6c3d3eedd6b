"""Faults done for real: killed tool, killed rank, stop signal, full disk."""
import os
import signal
import subprocess
import time
import unittest

from processes import workers_of
from tiny import TinyCase


class FaultTest(TinyCase):
    def start(self, *extra):
        return subprocess.Popen(self.command(*extra), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def wait_for_workers(self, process, count=2):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            found = workers_of(self.room)
            if len(found) >= count:
                return found
            time.sleep(0.01)
        self.fail("no training rank was seen")

    def assert_finishes(self):
        done = self.review()
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(self.result()["schema"], "stepslack.review/1")

    def test_killed_rank_is_named_and_the_next_run_finishes(self):
        process = self.start()
        rank1 = [pid for pid, rank in self.wait_for_workers(process) if rank == 1]
        os.kill(rank1[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 4, errors)
        self.assertIn("error[STUDY-0003]", errors)
        self.assertIn("rank 1 was killed by signal 9", errors)
        self.assert_finishes()

    def test_killed_tool_takes_its_ranks_along_and_the_next_run_finishes(self):
        process = self.start()
        self.wait_for_workers(process)
        time.sleep(1)
        process.kill()
        process.communicate(timeout=60)
        deadline = time.monotonic() + 20
        while workers_of(self.room) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(workers_of(self.room), [])
        self.assert_finishes()

    def test_stop_signal_ends_with_130_and_keeps_the_room(self):
        process = self.start()
        self.wait_for_workers(process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assert_finishes()

    def test_altered_run_is_noticed_and_trained_again(self):
        self.assert_finishes()
        runs = sorted((self.room / ".stepslack/runs").iterdir())
        before = (runs[0] / "metrics.jsonl").read_bytes()
        (runs[0] / "metrics.jsonl").write_bytes(before[:len(before) // 2])
        self.write_config(bound=99.0)
        done = self.review()
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertIn("was altered after it finished", done.stderr)
        after = (runs[0] / "metrics.jsonl").read_bytes()
        self.assertEqual(before.count(b"\n"), after.count(b"\n"))

    def test_moved_room_resumes_an_unfinished_run(self):
        process = self.start()
        self.wait_for_workers(process)
        time.sleep(1.5)
        process.kill()
        process.communicate(timeout=60)
        moved = self.folder / "moved"
        self.room.rename(moved)
        self.room = moved
        self.assert_finishes()

    def test_full_disk_is_an_environment_error(self):
        self.room.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=66m", "tmpfs",
                                  self.room], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting a small tmpfs is not permitted here")
        try:
            filler = self.room / ".stepslack" / "filler"
            filler.parent.mkdir()
            filler.write_bytes(b"x" * (1 << 20))
            process = self.start()
            self.wait_for_workers(process)
            try:
                with open(filler, "ab") as file:
                    while True:
                        file.write(b"x" * (1 << 16))
                        file.flush()
            except OSError:
                pass
            _, errors = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 4, errors)
            self.assertIn("error[", errors)
            self.assertIn("help: ", errors)
            filler.unlink()
            self.assert_finishes()
        finally:
            subprocess.run(["umount", self.room], check=False)


if __name__ == "__main__":
    unittest.main()
