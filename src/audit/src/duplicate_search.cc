#include "stepslack/audit/duplicate_search.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "stepslack/base/parallel.h"

namespace stepslack::audit {
namespace {

constexpr size_t kPartitions = 256;

struct Entry {
  uint64_t hash = 0;
  int64_t row = 0;
};

struct Block {  // of one partition in the temporary file
  int64_t offset = 0;
  int64_t count = 0;
};

// A file that is gone when it is closed.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  base::Status Append(const void* data, size_t size) {
    if (descriptor_ < 0) SS_RETURN_IF_ERROR(Open());
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t done = pwrite(descriptor_, at, size, size_);
      if (done <= 0) {
        return base::Fail("AUDIT-0002", base::ExitCode::kEnvironment,
                          "the temporary file can not be written", folder_,
                          "free some space there or point TMPDIR to another disk");
      }
      at += done;
      size -= static_cast<size_t>(done);
      size_ += done;
    }
    return {};
  }

  base::Status Read(int64_t offset, void* data, size_t size) const {
    char* at = static_cast<char*>(data);
    while (size > 0) {
      const ssize_t done = pread(descriptor_, at, size, offset);
      if (done <= 0) {
        return base::Fail("AUDIT-0003", base::ExitCode::kEnvironment,
                          "the temporary file can not be read back", folder_,
                          "check the disk, or point TMPDIR to another one");
      }
      at += done;
      size -= static_cast<size_t>(done);
      offset += done;
    }
    return {};
  }

  int64_t size() const { return size_; }

 private:
  base::Status Open() {
    const char* named = getenv("TMPDIR");
    folder_ = named != nullptr && *named != '\0' ? named : "/tmp";
    std::string name = folder_ + "/stepslack-audit-XXXXXX";
    descriptor_ = mkstemp(name.data());
    if (descriptor_ < 0) {
      return base::Fail("AUDIT-0001", base::ExitCode::kEnvironment,
                        "no temporary file can be made", folder_,
                        "point TMPDIR to a folder that can be written");
    }
    unlink(name.c_str());
    return {};
  }

  int descriptor_ = -1;
  int64_t size_ = 0;
  std::string folder_;
};

struct PartitionResult {
  int64_t distinct = 0;
  int64_t collisions = 0;
  std::vector<std::vector<int64_t>> groups;
};

// Rows with one hash, divided into those that are really equal.
void SplitBySame(std::span<const Entry> run, const DuplicateSearch::Same& same,
                 PartitionResult& out) {
  std::vector<std::vector<int64_t>> classes;
  for (const Entry& entry : run) {
    auto home = std::find_if(classes.begin(), classes.end(), [&](const auto& rows) {
      return !same || same(rows.front(), entry.row);
    });
    if (home == classes.end()) {
      classes.push_back({entry.row});
    } else {
      home->push_back(entry.row);
    }
  }
  out.distinct += static_cast<int64_t>(classes.size()) - 1;
  for (auto& rows : classes) {
    if (classes.size() > 1) out.collisions += static_cast<int64_t>(rows.size());
    if (rows.size() > 1) out.groups.push_back(std::move(rows));
  }
}

PartitionResult SearchPartition(std::span<const Entry> entries,
                                const DuplicateSearch::Same& same) {
  PartitionResult out;
  const size_t slots = std::bit_ceil(entries.size() * 2 + 16);
  std::vector<uint64_t> table(slots, 0);
  std::vector<uint8_t> repeated(slots, 0);
  bool any = false;
  const auto find = [&](uint64_t hash) {
    size_t at = hash & (slots - 1);
    while (table[at] != 0 && table[at] != hash) at = (at + 1) & (slots - 1);
    return at;
  };
  for (const Entry& entry : entries) {
    const size_t at = find(entry.hash);
    if (table[at] == 0) {
      table[at] = entry.hash;
      ++out.distinct;
    } else {
      repeated[at] = 1;
      any = true;
    }
  }
  if (!any) return out;
  std::vector<Entry> twins;
  for (const Entry& entry : entries) {
    if (repeated[find(entry.hash)] != 0) twins.push_back(entry);
  }
  std::sort(twins.begin(), twins.end(), [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.row < b.row;
  });
  for (size_t i = 0; i < twins.size();) {
    size_t end = i;
    while (end < twins.size() && twins[end].hash == twins[i].hash) ++end;
    SplitBySame(std::span(twins).subspan(i, end - i), same, out);
    i = end;
  }
  return out;
}

DuplicateGroups Join(std::vector<PartitionResult>& parts, int64_t rows) {
  DuplicateGroups out;
  out.rows = rows;
  std::vector<std::vector<int64_t>> groups;
  for (PartitionResult& part : parts) {
    out.distinct += part.distinct;
    out.collisions += part.collisions;
    for (auto& group : part.groups) groups.push_back(std::move(group));
    part = {};
  }
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return a.front() < b.front(); });
  if (groups.empty()) return out;
  out.begins.push_back(0);
  for (const auto& group : groups) {
    out.members.insert(out.members.end(), group.begin(), group.end());
    out.begins.push_back(static_cast<int64_t>(out.members.size()));
    out.largest = std::max(out.largest, static_cast<int64_t>(group.size()));
  }
  out.in_groups = static_cast<int64_t>(out.members.size());
  return out;
}

}  // namespace

struct DuplicateSearch::State {
  int64_t budget = 0;
  int64_t rows = 0;
  int64_t held = 0;  // entries in memory
  std::array<std::vector<Entry>, kPartitions> partitions;
  std::array<std::vector<Block>, kPartitions> blocks;
  TemporaryFile file;

  base::Status Spill() {
    for (size_t p = 0; p < kPartitions; ++p) {
      if (partitions[p].empty()) continue;
      blocks[p].push_back({file.size(), static_cast<int64_t>(partitions[p].size())});
      SS_RETURN_IF_ERROR(
          file.Append(partitions[p].data(), partitions[p].size() * sizeof(Entry)));
      partitions[p].clear();
    }
    held = 0;
    return {};
  }

  base::Status Load(size_t p, std::vector<Entry>& out) const {
    for (const Block& block : blocks[p]) {
      const size_t before = out.size();
      out.resize(before + size_t(block.count));
      SS_RETURN_IF_ERROR(file.Read(block.offset, out.data() + before,
                                   size_t(block.count) * sizeof(Entry)));
    }
    out.insert(out.end(), partitions[p].begin(), partitions[p].end());
    return {};
  }
};

DuplicateSearch::DuplicateSearch(int64_t budget_bytes)
    : state_(std::make_unique<State>()) {
  state_->budget = std::max<int64_t>(budget_bytes, 1 << 16);
}
DuplicateSearch::~DuplicateSearch() = default;
DuplicateSearch::DuplicateSearch(DuplicateSearch&&) noexcept = default;
DuplicateSearch& DuplicateSearch::operator=(DuplicateSearch&&) noexcept = default;

base::Status DuplicateSearch::Add(std::span<const uint64_t> hashes) {
  State& state = *state_;
  constexpr size_t kChunk = 4096;
  for (size_t begin = 0; begin < hashes.size(); begin += kChunk) {
    const size_t end = std::min(hashes.size(), begin + kChunk);
    for (size_t i = begin; i < end; ++i) {
      const uint64_t hash = hashes[i] == 0 ? 1 : hashes[i];  // 0 marks a free slot
      state.partitions[hash >> 56].push_back({hash, state.rows++});
    }
    state.held += static_cast<int64_t>(end - begin);
    // A vector that grows holds up to twice its content.
    if (state.held * 2 * int64_t{sizeof(Entry)} > state.budget) {
      SS_RETURN_IF_ERROR(state.Spill());
    }
  }
  return {};
}

base::Result<DuplicateGroups> DuplicateSearch::Finish(int threads, const Same& same) {
  State& state = *state_;
  std::vector<PartitionResult> parts(kPartitions);
  std::vector<base::Status> status(kPartitions);
  base::ParallelFor(kPartitions, threads, [&](size_t p) {
    if (state.blocks[p].empty()) {
      parts[p] = SearchPartition(state.partitions[p], same);
    } else {
      std::vector<Entry> entries;
      status[p] = state.Load(p, entries);
      if (status[p].has_value()) parts[p] = SearchPartition(entries, same);
    }
    state.partitions[p] = {};
  });
  for (const base::Status& one : status) {
    if (!one.has_value()) return tl::unexpected(one.error());
  }
  DuplicateGroups out = Join(parts, state.rows);
  out.spilled_bytes = state.file.size();
  const int64_t budget = state.budget;
  state_ = std::make_unique<State>();
  state_->budget = budget;
  return out;
}

}  // namespace stepslack::audit
