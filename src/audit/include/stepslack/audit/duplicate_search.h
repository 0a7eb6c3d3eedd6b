// Finds equal 64-bit hashes among any number of rows in bounded memory: rows are
// scattered over 256 partitions by the top bits of their hash (a Grace hash join's
// first half), partitions that do not fit the budget go to an unnamed temporary file,
// and each partition is then searched with a table that stays in the cache.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::audit {

// Rows that are equal, as lists behind each other. Groups are in order of their first
// row, members ascending.
struct DuplicateGroups {
  int64_t rows = 0;       // that were searched
  int64_t distinct = 0;   // different contents
  int64_t in_groups = 0;  // rows with at least one twin
  int64_t largest = 0;    // rows of the largest group; 0 without one
  std::vector<int64_t> members;
  std::vector<int64_t> begins;  // of each group in `members`, and one past the last
  int64_t spilled_bytes = 0;
  int64_t collisions = 0;  // rows with an equal hash and another content

  int64_t count() const {
    return begins.empty() ? 0 : static_cast<int64_t>(begins.size()) - 1;
  }
  std::span<const int64_t> Group(int64_t i) const {
    return std::span<const int64_t>(members).subspan(
        size_t(begins[size_t(i)]), size_t(begins[size_t(i) + 1] - begins[size_t(i)]));
  }
};

class DuplicateSearch {
 public:
  // Tells whether two rows are equal; called for rows with the same hash only.
  using Same = std::function<bool(int64_t, int64_t)>;

  explicit DuplicateSearch(int64_t budget_bytes = int64_t{512} << 20);
  ~DuplicateSearch();
  DuplicateSearch(DuplicateSearch&&) noexcept;
  DuplicateSearch& operator=(DuplicateSearch&&) noexcept;

  // Rows are numbered from 0 in the order in which they come. AUDIT-0001 no temporary
  // file can be made, AUDIT-0002 it can not be written.
  base::Status Add(std::span<const uint64_t> hashes);
  // Without `same` equal hashes count as equal rows: among n rows two different ones
  // share a hash with probability n^2 / 2^65. AUDIT-0003 the temporary file can not be
  // read back. The object is empty afterwards.
  base::Result<DuplicateGroups> Finish(int threads = 1, const Same& same = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::audit
