// What the probes look at: the rows with a label, as a matrix.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepslack/audit/probes.h"
#include "stepslack/learner/learner.h"

namespace stepslack::audit {

struct ProbeData {
  const data::Table* table = nullptr;
  std::vector<int64_t> rows;   // of the table, those with a label (all without one)
  std::vector<double> labels;  // by place in `rows`; empty without a label
  bool binary = false;         // labels are 0 and 1
  std::string label_name;
  std::vector<int64_t> group;            // by place in `rows`
  std::vector<std::string> group_names;  // by group number; empty: rows alone
  int64_t groups = 0;
  std::vector<int> split;        // by place in `rows`; empty without a split
  std::vector<size_t> features;  // columns of the table
  learner::Matrix matrix;        // rows x features
  std::string thinned;           // what was left out, "" when nothing
};

ProbeData Prepare(const data::Table& table, const std::vector<int>& split,
                  const ProbeOptions& options);

// Whether a cell has no value.
bool NoValue(const data::Column& column, int64_t row);
// A cell as people name it; "(none)" when it has no value.
std::string TextOf(const data::Column& column, int64_t row);
// Value of a cell as a feature: a number, or the code of a text; NaN when missing.
float FeatureValue(const data::Column& column, int64_t row);

// AUC for binary labels, else R2 = 1 - residual / total sum of squares.
double Score(const std::vector<double>& labels, const std::vector<double>& predicted,
             bool binary);
double Auc(const std::vector<double>& labels, const std::vector<double>& scores);

// Out-of-fold predictions, groups held out; nothing when it cannot be learned.
std::optional<std::vector<double>> Predictions(const learner::Matrix& matrix,
                                               const std::vector<double>& labels,
                                               const ProbeData& data,
                                               const ProbeOptions& options, int rounds);

// One probe's outcome into the report.
class Outcome {
 public:
  Outcome(ProbeReport& report, std::string id) : report_(report), id_(std::move(id)) {}
  void NotRun(std::string reason);
  void Passed(std::string reason, int64_t examined);
  void Found(Finding finding, std::string reason, int64_t examined);

 private:
  ProbeReport& report_;
  std::string id_;
};

// The probes, in the order of probes.h.
void ProbeFeatures(const ProbeData& data, const ProbeOptions& options,
                   ProbeReport& out);
void ProbeOrder(const ProbeData& data, const ProbeOptions& options, ProbeReport& out);
void ProbeSplit(const ProbeData& data, const ProbeOptions& options, ProbeReport& out);
void ProbeLabels(const ProbeData& data, const ProbeOptions& options, ProbeReport& out);
void ProbeSlices(const ProbeData& data, const ProbeOptions& options, ProbeReport& out);
void ProbeCoverage(const ProbeData& data, const ProbeOptions& options,
                   ProbeReport& out);

}  // namespace stepslack::audit
