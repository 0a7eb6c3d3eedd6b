#include "stepslack/comm/progress_board.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

namespace stepslack::comm {

// One cache line a rank. Zero-filled by the file system means "not here yet".
struct alignas(64) ProgressBoard::Slot {
  std::atomic<int64_t> pid;
  std::atomic<int64_t> entered;
  std::atomic<int64_t> finished;
  std::atomic<int64_t> failed;
};

namespace {

enum class ProcessState { kAlive, kStopped, kEnded };

// A process that is a zombie has ended, although kill(pid, 0) still finds it.
ProcessState StateOf(int64_t pid) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) {
    return ProcessState::kEnded;
  }
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return ProcessState::kEnded;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) {
    return ProcessState::kAlive;
  }
  switch (text[name_end + 2]) {
    case 'Z':
    case 'X':
      return ProcessState::kEnded;
    case 'T':
    case 't':
      return ProcessState::kStopped;
    default:
      return ProcessState::kAlive;
  }
}

std::string NameOf(int rank, int64_t pid) {
  return "rank " + std::to_string(rank) + " (process " + std::to_string(pid) + ")";
}

void AddClause(std::string& text, const std::string& clause) {
  if (!text.empty()) text += ", ";
  text += clause;
}

}  // namespace

base::Result<std::unique_ptr<ProgressBoard>> ProgressBoard::Open(
    const std::string& path, int rank, int world_size) {
  const auto size = sizeof(Slot) * static_cast<size_t>(world_size);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  void* memory = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, static_cast<off_t>(size)) == 0) {
    memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED) {
    return base::Fail(
        "COMM-0006", base::ExitCode::kEnvironment,
        std::string("cannot share a file between ranks: ") + std::strerror(reason),
        path, "check free space and permissions of the folder");
  }
  std::unique_ptr<ProgressBoard> board(
      new ProgressBoard(static_cast<Slot*>(memory), rank, world_size));
  board->slots_[rank].pid.store(::getpid());
  return board;
}

ProgressBoard::ProgressBoard(Slot* slots, int rank, int world_size)
    : slots_(slots), rank_(rank), world_size_(world_size) {}

ProgressBoard::~ProgressBoard() {
  ::munmap(slots_, sizeof(Slot) * static_cast<size_t>(world_size_));
}

void ProgressBoard::Entered(int64_t seq) { slots_[rank_].entered.store(seq); }
void ProgressBoard::Finished(int64_t seq) { slots_[rank_].finished.store(seq); }
void ProgressBoard::Failed() { slots_[rank_].failed.store(1); }

std::string ProgressBoard::Ended() const {
  std::string vanished;
  std::string gave_up;
  for (int rank = 0; rank < world_size_; ++rank) {
    const int64_t pid = slots_[rank].pid.load();
    if (rank == rank_ || pid == 0) continue;
    if (slots_[rank].failed.load() != 0) {
      AddClause(gave_up, NameOf(rank, pid) + " stopped with an error of its own");
    } else if (StateOf(pid) == ProcessState::kEnded) {
      AddClause(vanished, NameOf(rank, pid) + " has ended");
    }
  }
  // A rank that gave up because of another one is not the cause.
  return vanished.empty() ? gave_up : vanished;
}

std::string ProgressBoard::Late(int64_t seq) const {
  std::string late;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (rank == rank_) continue;
    const int64_t pid = slots_[rank].pid.load();
    const int64_t entered = slots_[rank].entered.load();
    if (StateOf(pid) == ProcessState::kStopped) {
      AddClause(late, NameOf(rank, pid) + " is stopped by a signal");
    } else if (entered < seq) {
      AddClause(late, "rank " + std::to_string(rank) +
                          " has not come, its last one is seq " +
                          std::to_string(entered));
    }
  }
  return late.empty() ? "all ranks are alive and have come" : late;
}

std::string ProgressBoard::Suspects(int64_t seq, int patience_ms) const {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  while (true) {
    std::string ended = Ended();
    if (!ended.empty()) return ended;
    if (std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Late(seq);
}

std::string ProgressBoard::Missing() const {
  std::string missing;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (slots_[rank].pid.load() == 0) {
      AddClause(missing, "rank " + std::to_string(rank) + " was never started");
    }
  }
  const std::string ended = Ended();
  if (!ended.empty()) AddClause(missing, ended);
  return missing;
}

}  // namespace stepslack::comm
