// How a rank waits for another: first it spins, then it lets others run, then it sleeps
// in the kernel and looks now and then whether the other is still there.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "process_state.h"
#include "shm_segment.h"
#include "stepslack/base/context.h"

namespace stepslack::comm {
namespace {

using Kind = TransportFailure::Kind;

constexpr int kSpins = 1000;  // about 50 us
constexpr int kYields = 200;
constexpr int kYieldsWhenCrowded = 4;  // the core is needed by the one waited for
constexpr int64_t kSleepNs = 20'000'000;
constexpr int kSleepsBetweenChecks = 5;

bool Reached(const Word& word, uint32_t target) {
  const uint32_t value = word.value.load(std::memory_order_acquire);
  return static_cast<int32_t>(value - target) >= 0;
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The word is shared between processes, hence not FUTEX_PRIVATE.
void Sleep(Word& word, uint32_t seen) {
  const timespec limit{0, kSleepNs};
  ::syscall(SYS_futex, &word.value, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

}  // namespace

void ShmSegment::Raise(Word& word, uint32_t value) {
  // Sequentially consistent, as is the count of sleepers: either the sleeper sees the
  // new value before it sleeps or it is seen here.
  word.value.store(value, std::memory_order_seq_cst);
  if (word.sleepers.load(std::memory_order_seq_cst) == 0) return;
  ::syscall(SYS_futex, &word.value, FUTEX_WAKE, 1 << 20, nullptr, nullptr, 0);
}

TransportStatus ShmSegment::Await(Word& word, uint32_t target, int peer) const {
  if (Reached(word, target)) return {};
  if (!oversubscribed_) {
    for (int i = 0; i < kSpins; ++i) {
      Pause();
      if (Reached(word, target)) return {};
    }
  }
  const int yields = oversubscribed_ ? kYieldsWhenCrowded : kYields;
  for (int i = 0; i < yields; ++i) {
    ::sched_yield();
    if (Reached(word, target)) return {};
  }
  return AwaitSlowly(word, target, peer);
}

TransportStatus ShmSegment::AwaitSlowly(Word& word, uint32_t target, int peer) const {
  const int64_t deadline = base::NowNs() + static_cast<int64_t>(timeout_seconds_ * 1e9);
  for (int sleeps = 0;; ++sleeps) {
    word.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = word.value.load(std::memory_order_seq_cst);
    if (static_cast<int32_t>(seen - target) < 0) Sleep(word, seen);
    word.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    if (Reached(word, target)) return {};
    if (TransportStatus whole = CheckWhole(); !whole.has_value()) return whole;
    if (sleeps % kSleepsBetweenChecks == 0) {
      TransportStatus there = CheckPeer(word, target, peer);
      if (!there.has_value()) return there;
    }
    if (base::NowNs() < deadline) continue;
    return Break({Kind::kTimeout,
                  "rank " + std::to_string(rank_) + " waited " +
                      std::to_string(static_cast<int64_t>(timeout_seconds_ * 1e3)) +
                      " ms for rank " + std::to_string(peer) + StoppedRanks()});
  }
}

// The one waited for may itself wait for a rank that is stopped.
std::string ShmSegment::StoppedRanks() const {
  std::string stopped;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (StateOf(slots_[rank].pid.load()) != ProcessState::kStopped) continue;
    stopped += ", rank " + std::to_string(rank) + " is stopped by a signal";
  }
  return stopped;
}

TransportStatus ShmSegment::CheckPeer(Word& word, uint32_t target, int peer) const {
  const RankSlot& slot = slots_[peer];
  const bool left = slot.left.load() != 0;
  const bool ended = StateOf(slot.pid.load()) == ProcessState::kEnded;
  // It may have come just before it went.
  if ((!left && !ended) || Reached(word, target)) return {};
  return Break(
      {Kind::kPeerLost,
       "rank " + std::to_string(peer) +
           (ended ? " (process " + std::to_string(slot.pid.load()) + ") has ended"
                  : " has left the group")});
}

}  // namespace stepslack::comm
