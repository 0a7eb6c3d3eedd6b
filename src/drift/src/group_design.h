// Which groups may change sides under the null hypothesis, and in how many ways.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/random.h"
#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::drift {

// Side of every cell: 0 reference, 1 current. A cell is the rows of one group on one
// side, numbered 2 * group + side.
using Sides = std::vector<uint8_t>;

class GroupDesign {
 public:
  // `column` empty: every row is its own group. DRIFT-0002.
  static base::Result<GroupDesign> Of(const data::Table& reference,
                                      const data::Table& current,
                                      const std::string& column);

  const std::vector<int32_t>& reference_cells() const { return reference_cells_; }
  const std::vector<int32_t>& current_cells() const { return current_cells_; }
  size_t cells() const { return 2 * groups_; }
  int64_t reference_only() const { return static_cast<int64_t>(reference_.size()); }
  int64_t current_only() const { return static_cast<int64_t>(current_.size()); }
  int64_t shared() const { return static_cast<int64_t>(shared_.size()); }

  // 2^shared * C(one-sided, reference only), infinite when it does not fit a double.
  double Assignments() const;
  // Of the exact test: 2 assignments that mirror each other give equal distances.
  double LeastExactP() const;
  Sides Observed() const;
  // All of them, at most `most` (Assignments() <= most).
  std::vector<Sides> Enumerate() const;
  Sides Draw(base::Random& random) const;
  // How often each cell is drawn when groups are drawn again, those of the reference,
  // of the current table and the shared ones among themselves.
  std::vector<double> Resample(base::Random& random) const;

 private:
  size_t groups_ = 0;
  std::vector<int32_t> reference_cells_;  // cell of each row
  std::vector<int32_t> current_cells_;
  std::vector<size_t> reference_;  // groups in the reference only
  std::vector<size_t> current_;
  std::vector<size_t> shared_;
};

}  // namespace stepslack::drift
