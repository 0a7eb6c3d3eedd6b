#include "stepslack/comm/progress_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "process_state.h"

namespace stepslack::comm {

namespace {

constexpr int64_t kKeptCalls = 64;  // ranks are never that far apart in one group

}  // namespace

// Cache lines of its own for a rank. Zero-filled by the file system means "not here
// yet".
struct alignas(64) ProgressBoard::Slot {
  std::atomic<int64_t> pid;
  std::atomic<int64_t> entered;
  std::atomic<int64_t> finished;
  std::atomic<int64_t> failed;
  std::atomic<int64_t> talking;  // operation << 32 | peer, 0: to nobody
  alignas(64) std::array<CallShape, kKeptCalls> calls;  // of seq, at seq % kKeptCalls
};

namespace {

std::string ProcessOf(int rank, int64_t pid) {
  return "rank " + std::to_string(rank) + " (process " + std::to_string(pid) + ")";
}

std::string TalkOf(int rank, int64_t talk) {
  const auto operation = static_cast<Operation>(talk >> 32);
  return "rank " + std::to_string(rank) + " is in " + std::string(NameOf(operation)) +
         (operation == Operation::kSend ? " to rank " : " from rank ") +
         std::to_string(talk & 0xffffffff);
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

void ProgressBoard::Entered(int64_t seq, const CallShape& shape) {
  slots_[rank_].calls[static_cast<size_t>(seq % kKeptCalls)] = shape;
  slots_[rank_].entered.store(seq);
}

void ProgressBoard::Talking(Operation operation, int peer) {
  slots_[rank_].talking.store((static_cast<int64_t>(operation) << 32) | peer);
}

void ProgressBoard::Quiet() { slots_[rank_].talking.store(0); }

std::string ProgressBoard::Mismatch(int64_t seq) const {
  const auto index = static_cast<size_t>(seq % kKeptCalls);
  const CallShape mine = slots_[rank_].calls[index];
  for (int rank = 0; rank < world_size_; ++rank) {
    const Slot& slot = slots_[rank];
    if (rank == rank_ || slot.entered.load() < seq) continue;
    const CallShape theirs = slot.calls[index];
    // Overwritten by now, or about to be: then it had agreed long ago.
    if (slot.entered.load() >= seq + kKeptCalls - 1 || theirs == mine) continue;
    return rank > rank_ ? DescribeMismatch(rank, theirs, rank_, mine)
                        : DescribeMismatch(rank_, mine, rank, theirs);
  }
  return {};
}

void ProgressBoard::Finished(int64_t seq) { slots_[rank_].finished.store(seq); }
void ProgressBoard::Failed() { slots_[rank_].failed.store(1); }

std::string ProgressBoard::Ended() const {
  std::string vanished;
  std::string gave_up;
  for (int rank = 0; rank < world_size_; ++rank) {
    const int64_t pid = slots_[rank].pid.load();
    if (rank == rank_ || pid == 0) continue;
    if (slots_[rank].failed.load() != 0) {
      AddClause(gave_up, ProcessOf(rank, pid) + " stopped with an error of its own");
    } else if (StateOf(pid) == ProcessState::kEnded) {
      AddClause(vanished, ProcessOf(rank, pid) + " has ended");
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
      AddClause(late, ProcessOf(rank, pid) + " is stopped by a signal");
    } else if (entered < seq && slots_[rank].talking.load() != 0) {
      AddClause(late, TalkOf(rank, slots_[rank].talking.load()));
    } else if (entered < seq) {
      AddClause(late, "rank " + std::to_string(rank) +
                          " has not come, its last one is seq " +
                          std::to_string(entered));
    }
  }
  if (!late.empty()) return late;
  return seq > 0 ? "all ranks are alive and have come" : "all ranks are alive";
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
