#include "shm_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

namespace stepslack::comm {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;
constexpr uint64_t kOffsetBits = 48;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;
constexpr size_t kMaxAllocations = 1 << 15;

}  // namespace

// A stripe starts on a page of its own; those worth a huge page, on one of those.
size_t ShmMemory::Stripe(size_t bytes) const {
  const size_t unit = bytes >= kHugePage ? kHugePage : kPage;
  return std::max(bytes + unit - 1, unit) / unit * unit;
}

uint64_t ShmMemory::Locate(const void* data, size_t bytes) const {
  const auto* start = static_cast<const std::byte*>(data);
  for (size_t i = 0; i < allocations_.size(); ++i) {
    const Allocation& allocation = allocations_[i];
    const std::byte* mine = allocation.mapping.data() +
                            static_cast<size_t>(segment_.rank()) * allocation.stripe;
    if (start < mine || start >= mine + allocation.stripe) continue;
    const auto offset = static_cast<size_t>(start - mine);
    if (bytes > allocation.stripe - offset) return kOutside;
    return (static_cast<uint64_t>(i) << kOffsetBits) | offset;
  }
  return kOutside;
}

std::byte* ShmMemory::At(int rank, uint64_t location) const {
  const Allocation& allocation = allocations_[location >> kOffsetBits];
  return allocation.mapping.data() + static_cast<size_t>(rank) * allocation.stripe +
         (location & kOffsetMask);
}

int64_t ShmMemory::Make(size_t bytes, bool want_huge) {
  const auto ranks = static_cast<size_t>(segment_.ranks());
  // An anonymous file has no limit of its own: without this check a plan that is too
  // large would be stopped by the kernel, with no message.
  if (bytes > kOffsetMask || allocations_.size() >= kMaxAllocations ||
      Stripe(bytes) > AvailableMemory() / 10 * 9 / ranks) {
    return -ENOSPC;
  }
  const size_t total = Stripe(bytes) * ranks;
  huge_ = false;
  if (want_huge && bytes >= kHugePage) {
    const int file = MakeMemoryFile(total, true);
    // Only pages that the administrator has reserved; usually there are none.
    if (file >= 0 && ::fallocate(file, 0, 0, static_cast<off_t>(total)) == 0) {
      huge_ = true;
      file_ = file;
      return file;
    }
    if (file >= 0) ::close(file);
  }
  file_ = MakeMemoryFile(total, false);
  return file_ >= 0 ? file_ : -errno;
}

int ShmMemory::Reserve(int64_t descriptor, size_t bytes, bool huge) {
  huge_ = huge;
  const int64_t leader = segment_.slot(0).pid.load();
  file_ = segment_.rank() == 0 ? static_cast<int>(descriptor)
                               : OpenMemoryFileOf(leader, static_cast<int>(descriptor));
  if (file_ < 0) return errno;
  if (huge) return 0;  // rank 0 has taken all of it
  // Each rank takes its own part, so that the pages are near its core.
  const size_t stripe = Stripe(bytes);
  const auto first = static_cast<off_t>(stripe * static_cast<size_t>(segment_.rank()));
  return ::posix_fallocate(file_, first, static_cast<off_t>(stripe));
}

std::span<std::byte> ShmMemory::Map(size_t bytes) {
  const size_t stripe = Stripe(bytes);
  const size_t total = stripe * static_cast<size_t>(segment_.ranks());
  Mapping mapping = Mapping::Of(file_, total, true);
  if (!mapping) return {};
  ::madvise(mapping.data(), total, MADV_HUGEPAGE);  // later, where the host allows it
  std::byte* mine = mapping.data() + stripe * static_cast<size_t>(segment_.rank());
  allocations_.push_back({std::move(mapping), stripe});
  return {mine, bytes};
}

void ShmMemory::Close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void ShmMemory::DropLast() { allocations_.pop_back(); }

std::string ShmMemory::PageNote(bool huge) {
  if (huge) return "shared memory file with 2 MB pages";
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string text;
  std::getline(file, text);
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string::npos || close == std::string::npos)
    text = "unknown";
  else
    text = text.substr(open + 1, close - open - 1);
  return "shared memory file with 4 KB pages (none of 2 MB reserved, shmem huge "
         "pages: " +
         text + ")";
}

}  // namespace stepslack::comm
