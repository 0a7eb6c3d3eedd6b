#include "shm_segment.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <utility>

#include "process_state.h"
#include "stepslack/base/context.h"

namespace stepslack::comm {
namespace {

using Kind = TransportFailure::Kind;

constexpr uint64_t kMagic = 0x31304d4853534c53;  // "SLSSHM01"
constexpr size_t kPage = 4096;
constexpr size_t kAllWindows = size_t{64} << 20;
constexpr size_t kAllRings = size_t{16} << 20;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t WindowBytes(const ShmOptions& options) {
  const auto ranks = static_cast<size_t>(options.world_size);
  if (options.staging_bytes != 0) return RoundUp(options.staging_bytes, kPage);
  return RoundUp(
      std::clamp(kAllWindows / (2 * ranks), size_t{64} << 10, size_t{1} << 20), kPage);
}

// A power of two, so that the byte counters wrap at a multiple of it.
size_t RingBytes(const ShmOptions& options) {
  const auto ranks = static_cast<size_t>(options.world_size);
  return std::bit_floor(
      std::clamp(kAllRings / (ranks * ranks), size_t{4} << 10, size_t{256} << 10));
}

size_t SlotsOffset() { return RoundUp(sizeof(SegmentHeader), kPage); }
size_t WindowsOffset(size_t ranks) {
  return SlotsOffset() + RoundUp(ranks * sizeof(RankSlot), kPage);
}
size_t ChannelsOffset(size_t ranks, size_t window) {
  return WindowsOffset(ranks) + ranks * 2 * window;
}
size_t RingsOffset(size_t ranks, size_t window) {
  return ChannelsOffset(ranks, window) +
         RoundUp(ranks * ranks * sizeof(Channel), kPage);
}
size_t TotalBytes(size_t ranks, size_t window, size_t ring) {
  return RingsOffset(ranks, window) + ranks * ranks * ring;
}

std::string RendezvousPath(const ShmOptions& options) {
  return options.store_path + ".shm";
}

uint64_t RandomNonce() {
  uint64_t nonce = 0;
  if (::getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce)) {
    nonce = static_cast<uint64_t>(base::NowNs()) * 0x9e3779b97f4a7c15ULL;
  }
  return nonce;
}

uint64_t JobOf(const ShmOptions& options) {
  return std::hash<std::string>{}(options.job_id);
}

tl::unexpected<TransportFailure> Refuse(const std::string& what, int reason) {
  return tl::unexpected(
      TransportFailure{Kind::kOther, what + ": " + std::strerror(reason)});
}

void Nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// Written beside and renamed, so that nobody reads half of it.
bool Publish(const std::string& path, const std::string& text) {
  const std::string fresh = path + "." + std::to_string(::getpid());
  {
    std::ofstream file(fresh, std::ios::trunc);
    file << text;
    file.close();
    if (!file) return false;
  }
  return std::rename(fresh.c_str(), path.c_str()) == 0;
}

int64_t DeadlineOf(const ShmOptions& options) {
  return base::NowNs() + static_cast<int64_t>(options.timeout_seconds * 1e9);
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Mapping Mapping::Of(int file, size_t bytes, bool populate) {
  const int flags = MAP_SHARED | (populate ? MAP_POPULATE : 0);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) return {};
  return {static_cast<std::byte*>(memory), bytes};
}

int MakeMemoryFile(size_t bytes, bool huge) {
  const unsigned flags = MFD_CLOEXEC | (huge ? MFD_HUGETLB : 0U);
  const int file = ::memfd_create("stepslack", flags);
  if (file < 0) return -1;
  if (::ftruncate(file, static_cast<off_t>(bytes)) == 0) return file;
  const int reason = errno;
  ::close(file);
  errno = reason;
  return -1;
}

int OpenMemoryFileOf(int64_t pid, int file) {
  const std::string path =
      "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(file);
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
}

uint64_t AvailableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  uint64_t kib = 0;
  std::string unit;
  while (file >> key >> kib >> unit) {
    if (key == "MemAvailable:") return kib << 10U;
  }
  return ~uint64_t{0};
}

ShmSegment::~ShmSegment() {
  if (slots_ != nullptr) mine().left.store(1);
}

std::byte* ShmSegment::window(int rank, size_t parity) const {
  const size_t window = header_->window_bytes;
  return mapping_.data() + WindowsOffset(static_cast<size_t>(ranks_)) +
         (2 * static_cast<size_t>(rank) + parity) * window;
}

Channel& ShmSegment::channel(int from, int to) const {
  const auto ranks = static_cast<size_t>(ranks_);
  auto* first = reinterpret_cast<Channel*>(
      mapping_.data() + ChannelsOffset(ranks, header_->window_bytes));
  return first[static_cast<size_t>(from) * ranks + static_cast<size_t>(to)];
}

std::byte* ShmSegment::ring(int from, int to) const {
  const auto ranks = static_cast<size_t>(ranks_);
  return mapping_.data() + RingsOffset(ranks, header_->window_bytes) +
         (static_cast<size_t>(from) * ranks + static_cast<size_t>(to)) *
             header_->ring_bytes;
}

tl::expected<std::unique_ptr<ShmSegment>, TransportFailure> ShmSegment::Join(
    const ShmOptions& options) {
  std::unique_ptr<ShmSegment> segment(new ShmSegment);
  segment->rank_ = options.rank;
  segment->ranks_ = options.world_size;
  segment->timeout_seconds_ = options.timeout_seconds;
  const TransportStatus status =
      options.rank == 0 ? segment->Lead(options) : segment->Follow(options);
  if (!status.has_value()) return tl::unexpected(status.error());
  segment->oversubscribed_ = segment->header_->crowded.load() != 0;
  return segment;
}

bool ShmSegment::Bind(Mapping mapping) {
  mapping_ = std::move(mapping);
  if (!mapping_) return false;
  header_ = reinterpret_cast<SegmentHeader*>(mapping_.data());
  return true;
}

void ShmSegment::SignIn() {
  slots_ = reinterpret_cast<RankSlot*>(mapping_.data() + SlotsOffset());
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    std::memcpy(mine().cores.data(), &cores,
                std::min(sizeof(cores), sizeof(mine().cores)));
  }
}

// Ranks that must take turns should not spin: all cores that any of them may run on.
bool ShmSegment::FewerCoresThanRanks() const {
  int cores = 0;
  for (size_t word = 0; word < mine().cores.size(); ++word) {
    uint64_t any = 0;
    for (int rank = 0; rank < ranks_; ++rank) any |= slots_[rank].cores[word];
    cores += std::popcount(any);
  }
  return cores < ranks_;
}

TransportStatus ShmSegment::Lead(const ShmOptions& options) {
  const auto ranks = static_cast<size_t>(ranks_);
  const size_t window = WindowBytes(options);
  const size_t ring = RingBytes(options);
  const size_t total = TotalBytes(ranks, window, ring);
  const int file = MakeMemoryFile(total, false);
  if (file < 0) return Refuse("no shared memory", errno);
  // Space is taken now: to run out of it later would be a bus error.
  const int full = ::posix_fallocate(file, 0, static_cast<off_t>(total));
  if (full != 0 || !Bind(Mapping::Of(file, total, true))) {
    const int reason = full != 0 ? full : errno;
    ::close(file);
    return Refuse("no " + std::to_string(total >> 20U) + " MB of shared memory",
                  reason);
  }
  header_->nonce = RandomNonce();
  header_->job = JobOf(options);
  header_->ranks = static_cast<uint32_t>(ranks_);
  header_->window_bytes = window;
  header_->ring_bytes = ring;
  SignIn();
  mine().pid.store(::getpid());
  header_->magic.store(kMagic);

  const std::string path = RendezvousPath(options);
  TransportStatus status;
  if (!Publish(path, std::to_string(::getpid()) + " " + std::to_string(file) + " " +
                         std::to_string(header_->nonce) + "\n")) {
    status = Refuse("cannot write " + path, errno);
  } else {
    status = AwaitAll(DeadlineOf(options));
    std::remove(path.c_str());
  }
  header_->crowded.store(FewerCoresThanRanks() ? 1U : 0U);
  header_->ready.store(status.has_value() ? 1U : 2U);
  ::close(file);
  return status;
}

TransportStatus ShmSegment::AwaitAll(int64_t deadline_ns) {
  while (true) {
    std::string missing;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (slots_[rank].pid.load() > 0) continue;
      missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(rank);
    }
    if (missing.empty()) return {};
    if (base::NowNs() >= deadline_ns) {
      return tl::unexpected(
          TransportFailure{Kind::kTimeout, missing + " did not join in time"});
    }
    Nap();
  }
}

TransportStatus ShmSegment::Follow(const ShmOptions& options) {
  const std::string path = RendezvousPath(options);
  const int64_t deadline_ns = DeadlineOf(options);
  while (true) {
    std::ifstream file(path);
    std::string text;
    bool joined = false;
    if (std::getline(file, text)) {
      TransportStatus status = TryFollow(options, text, deadline_ns, &joined);
      if (joined || !status.has_value()) return status;
    }
    if (base::NowNs() >= deadline_ns) {
      return tl::unexpected(TransportFailure{
          Kind::kTimeout, "rank 0 has made no shared segment of this job at " + path});
    }
    Nap();
  }
}

// Joins the segment that `text` tells of. Not joined and no failure: it belongs to an
// earlier run or its maker is gone; look again.
TransportStatus ShmSegment::TryFollow(const ShmOptions& options,
                                      const std::string& text, int64_t deadline_ns,
                                      bool* joined) {
  std::istringstream words(text);
  int64_t leader = 0;
  int number = -1;
  uint64_t nonce = 0;
  if (!(words >> leader >> number >> nonce)) return {};
  const int file = OpenMemoryFileOf(leader, number);
  if (file < 0) return {};
  struct stat facts {};
  const size_t least = WindowsOffset(static_cast<size_t>(ranks_));
  const bool fits =
      ::fstat(file, &facts) == 0 && static_cast<size_t>(facts.st_size) >= least;
  Mapping mapping =
      fits ? Mapping::Of(file, static_cast<size_t>(facts.st_size), true) : Mapping();
  ::close(file);
  if (!mapping) return {};
  Bind(std::move(mapping));
  if (header_->magic.load() != kMagic || header_->nonce != nonce ||
      header_->job != JobOf(options)) {
    return {};
  }
  if (header_->ranks != static_cast<uint32_t>(ranks_)) {
    return tl::unexpected(TransportFailure{
        Kind::kDesync, "rank 0 counts " + std::to_string(header_->ranks) +
                           " ranks, rank " + std::to_string(rank_) + " counts " +
                           std::to_string(ranks_)});
  }
  auto* slots = reinterpret_cast<RankSlot*>(mapping_.data() + SlotsOffset());
  int64_t nobody = 0;
  // A slot that is taken belongs to a run before this one.
  if (!slots[rank_].pid.compare_exchange_strong(nobody, -1)) return {};
  SignIn();
  mine().pid.store(::getpid());
  while (header_->ready.load() == 0 && base::NowNs() < deadline_ns &&
         StateOf(leader) != ProcessState::kEnded) {
    Nap();
  }
  *joined = header_->ready.load() == 1;
  if (!*joined) slots_ = nullptr;
  return {};
}

tl::unexpected<TransportFailure> ShmSegment::Break(TransportFailure failure) const {
  uint32_t whole = 0;
  if (header_->broken.compare_exchange_strong(whole, 1)) {
    const size_t length =
        std::min(failure.what.size(), header_->broken_what.size() - 1);
    std::memcpy(header_->broken_what.data(), failure.what.data(), length);
    header_->broken_what[length] = '\0';
    header_->broken_kind.store(static_cast<uint32_t>(failure.kind));
    header_->broken.store(2);
    return tl::unexpected(std::move(failure));
  }
  if (header_->broken.load() != 2) return tl::unexpected(std::move(failure));
  return tl::unexpected(CheckWhole().error());
}

TransportStatus ShmSegment::CheckWhole() const {
  if (header_->broken.load() != 2) return {};
  return tl::unexpected(TransportFailure{static_cast<Kind>(header_->broken_kind.load()),
                                         std::string(header_->broken_what.data())});
}

}  // namespace stepslack::comm
