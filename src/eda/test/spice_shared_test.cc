// Known answers of the contest's netlists, which lie outside of the project.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/eda/spice_solver.h"

namespace stepslack::eda {
namespace {

std::string ContestFolder() {
  std::string root;
  if (const char* shared = std::getenv("STEPSLACK_SHARED")) {
    root = shared;
  } else if (const char* source = std::getenv("STEPSLACK_SOURCE")) {
    root = std::string(source) + "/../shared";
  }
  return root + "/data/vlsi/iccad23-irdrop";
}

// Median |node - label's pixel| over the nodes of m1, uV.
double MedianError(const SpiceNetlist& netlist, const OperatingPoint& point,
                   const std::string& csv) {
  std::vector<std::vector<double>> rows;
  for (const auto line : base::Split(csv, '\n')) {
    rows.emplace_back();
    for (const auto cell : base::Split(base::Trim(line), ',')) {
      rows.back().push_back(base::ParseDouble(cell).value_or(NAN));
    }
  }
  std::vector<double> errors;
  for (size_t i = 1; i < netlist.nodes.size(); ++i) {
    const auto name = ParseGridNode(netlist.nodes[i]);
    if (!name || name->layer != 1) continue;
    const auto x = static_cast<size_t>(name->x_dbu / 2000);
    const auto y = static_cast<size_t>(name->y_dbu / 2000);
    if (x >= rows.size() || y >= rows[x].size()) continue;
    errors.push_back(std::abs(rows[x][y] - point.drop_v[i]) * 1e6);
  }
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

struct Known {
  const char* name;
  size_t nodes;
  double max_mv, current_a;
};

TEST(ContestNetlists, AreSolvedToTheKnownDrops) {
  for (const Known& known : {Known{"testcase1", 21671, 4.02, 6.943e-3},
                             Known{"testcase11", 9931, 5.06, 4.578e-3}}) {
    const std::string path = ContestFolder() + "/spice/" + known.name + ".sp.gz";
    if (!base::PathExists(path)) GTEST_SKIP() << "the contest data set is not here";
    const auto netlist = ReadSpice(path);
    ASSERT_TRUE(netlist.has_value()) << base::Describe(netlist.error());
    EXPECT_EQ(netlist->nodes.size() - 1, known.nodes);
    const auto point = SolveNetlist(*netlist);
    ASSERT_TRUE(point.has_value()) << base::Describe(point.error());
    EXPECT_NEAR(point->max_drop_v * 1e3, known.max_mv, 0.005);
    EXPECT_NEAR(point->source_current_a, known.current_a, 5e-7);
    const auto csv = base::ReadMaybeGzip(ContestFolder() + "/real/" + known.name +
                                         "/ir_drop_map.csv.gz");
    ASSERT_TRUE(csv.has_value());
    const double median = MedianError(*netlist, *point, *csv);
    EXPECT_GE(median, 5.5) << known.name;
    EXPECT_LE(median, 11.5) << known.name;
  }
}

// Linear and additive: half of the sources, each three times, and the other half as
// they are, solved apart, add up to the drop of all of them together.
TEST(ContestNetlists, DropsAreLinearAndAddOverCurrents) {
  const std::string path = ContestFolder() + "/spice/testcase11.sp.gz";
  if (!base::PathExists(path)) GTEST_SKIP() << "the contest data set is not here";
  const auto netlist = ReadSpice(path);
  ASSERT_TRUE(netlist.has_value());
  SpiceNetlist odd = *netlist, even = *netlist, both = *netlist;
  for (size_t i = 0; i < netlist->currents.size(); ++i) {
    (i % 2 == 0 ? odd : even).currents[i].value = 0;
    if (i % 2 == 1) both.currents[i].value *= 3;
  }
  const auto a = SolveNetlist(odd), b = SolveNetlist(even), c = SolveNetlist(both);
  ASSERT_TRUE(a.has_value() && b.has_value() && c.has_value());
  double worst = 0;
  for (size_t i = 0; i < c->drop_v.size(); ++i) {
    worst = std::max(worst, std::abs(3 * a->drop_v[i] + b->drop_v[i] - c->drop_v[i]));
  }
  EXPECT_LT(worst, 1e-10);  // V; the drops reach 1e-2
}

}  // namespace
}  // namespace stepslack::eda
