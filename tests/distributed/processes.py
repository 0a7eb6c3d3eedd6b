"""Finding and waiting for processes that a test has started indirectly."""
import pathlib
import time


def workers_of(room):
    """(process id, rank) of training ranks whose run folder lies in the room."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if command and command[0].endswith(b"stepslack-worker") and any(
                str(room).encode() in word for word in command):
            rank = [e for e in environment if e.startswith(b"STEPSLACK_RANK=")]
            found.append((int(entry.name), int(rank[0].split(b"=")[1]) if rank else -1))
    return found


def wait_for(condition, seconds):
    """Polls until the condition holds; False when it did not in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False
