"""The main job end to end on a tiny data set, as a user runs it."""
import hashlib
import json
import subprocess
import time
import unittest

from tiny import BIN, TinyCase


class ReviewTest(TinyCase):
    def test_review_leaves_a_complete_room_and_repeats_from_cache(self):
        done = self.review()
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(done.stdout.rstrip().splitlines()[-1], f"room: {self.room}")
        result = self.result()
        self.assertEqual(result["schema"], "stepslack.review/1")
        self.assertIn(result["decision"], ("ship", "rollback", "bounded pilot", "escalate"))
        for key in ("dataset", "model", "runtime", "hardware"):
            self.assertRegex(result["tags"][key], "^[0-9a-f]{64}$")
        for requirement in result["requirements"]:
            self.assertIn(requirement["verdict"],
                          ("met", "violated", "inconclusive", "error", "not_run"))
            self.assertTrue({"value", "low", "high", "unit", "n", "method"}
                            <= requirement["estimate"].keys())
        for artifact in result["artifacts"]:
            content = (self.room / artifact["path"]).read_bytes()
            self.assertEqual(hashlib.sha256(content).hexdigest(), artifact["sha256"],
                             artifact["path"])
        for name in ("report.html", "memo.md", "decision.md", "capsule.json", "capsule.txt"):
            self.assertGreater((self.room / name).stat().st_size, 200, name)
        self.assertLess((self.room / "report.html").stat().st_size, 2_000_000)

        first = (self.room / "review.json").read_bytes()
        start = time.monotonic()
        again = self.review("--format", "json")
        self.assertEqual(again.stdout.encode(), first)
        self.assertLess(time.monotonic() - start, 60)  # a hang, not a speed check
        self.assertEqual((self.room / "review.json").read_bytes(), first)
        verified = subprocess.run([BIN / "stepslack", "verify", self.room / "capsule.json"],
                                  capture_output=True, text=True)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        with open(self.room / "memo.md", "a") as memo:
            memo.write("x")
        verified = subprocess.run([BIN / "stepslack", "verify", self.room / "capsule.json"],
                                  capture_output=True, text=True)
        self.assertEqual(verified.returncode, 5, verified.stderr)

    def test_changed_requirement_keeps_the_runs(self):
        self.review()
        before = sorted(path.name for path in (self.room / ".stepslack/runs").iterdir())
        self.write_config(bound=1e-6)
        done = self.review()
        self.assertEqual(done.returncode, 1, done.stderr)
        after = sorted(path.name for path in (self.room / ".stepslack/runs").iterdir())
        self.assertEqual(before, after)
        verdicts = {r["id"]: r["verdict"] for r in self.result()["requirements"]}
        self.assertEqual(verdicts["mae"], "violated")
        self.assertNotEqual(self.result()["decision"], "ship")


if __name__ == "__main__":
    unittest.main()
