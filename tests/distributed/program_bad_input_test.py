"""What users get wrong: each refusal has an id, a place, a next step and its exit code."""
import pathlib
import random
import subprocess
import unittest

from tiny import BIN, TinyCase, npy

SIDE = 32


class BadInputTest(TinyCase):
    def maps(self, n=24, nan_at=None, channels=4, side=SIDE):
        """A folder with n random maps in families of two; returns its path."""
        folder = self.folder / "maps"
        folder.mkdir(exist_ok=True)
        random.seed(1)
        area = side * side
        x, y = [], []
        for _ in range(n):
            current = [random.uniform(10, 60) for _ in range(area)]
            x += current + [float(i % 2) for i in range(area)]
            x += [float(i % 3 == 0) for i in range(area)]
            x += [random.uniform(1, 9) for _ in range(area)] * (channels - 3)
            y += [0.7 * value for value in current]
        if nan_at is not None:
            x[nan_at] = float("nan")
        (folder / "x_float32.npy").write_bytes(npy(x, (n, channels, side, side)))
        (folder / "y_mV_float32.npy").write_bytes(npy(y, (n, side, side)))
        rows = "".join(f"{i},{i // 2}\n" for i in range(n))
        (folder / "samples.csv").write_text("index,family\n" + rows)
        self.write_config(data=f'source = "folder"\nfolder = "{folder}"')
        return folder

    def test_user_folder_with_a_nan_goes_to_quarantine_and_the_review_finishes(self):
        self.maps(nan_at=5)
        done = self.review()
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertIn("1 in quarantine", done.stderr)

    def test_one_sample_is_refused(self):
        self.maps(n=1)
        self.assert_error(self.review(), 3, "DATA-0060")

    def test_truncated_array_is_refused(self):
        folder = self.maps()
        path = folder / "x_float32.npy"
        path.write_bytes(path.read_bytes()[:-10])
        self.assert_error(self.review(), 3, "REC-0001")

    def test_shapes_that_do_not_fit_are_refused(self):
        folder = self.maps()
        (folder / "y_mV_float32.npy").write_bytes(npy([1.0] * 100, (1, 10, 10)))
        done = self.review()
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("error[", done.stderr)

    def test_missing_folder_is_refused(self):
        self.write_config(data='source = "folder"\nfolder = "/nonexistent/maps"')
        self.assert_error(self.review(), 3, "DATA-0001")

    def test_empty_folder_is_refused(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.write_config(data=f'source = "folder"\nfolder = "{empty}"')
        self.assertEqual(self.review().returncode, 3)

    def test_maps_smaller_than_a_tile_are_refused(self):
        self.maps(side=16)
        done = self.review()
        self.assert_error(done, 3, "REV-0004")
        self.assertIn("below_tile_size (24 maps", done.stderr)

    def test_room_in_use_is_refused(self):
        first = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            lock = self.room / ".stepslack" / "lock"
            while not pathlib.Path(lock).exists():
                pass
            while True:
                done = self.review()
                if done.returncode != 1 or "STORE-0002" in done.stderr:
                    break
            self.assert_error(done, 4, "STORE-0002")
        finally:
            first.kill()
            first.wait()

    def test_three_ranks_need_not_divide_the_batch(self):
        self.write_config(ranks=3, samples=48)
        done = self.review()
        self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_unwritable_room_is_an_environment_error(self):
        done = subprocess.run([BIN / "stepslack", "review", self.folder / "review.toml",
                               "--room", "/proc/room"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("error[BASE-0002]", done.stderr)


if __name__ == "__main__":
    unittest.main()
