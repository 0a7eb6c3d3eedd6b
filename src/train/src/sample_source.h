// The samples of one plan as a network sees them: maps, rows of a table, or netlist
// graphs. Everything here is safe to call from several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

// What one encoded sample takes.
struct SampleSize {
  int64_t inputs = 0;   // floats
  int64_t targets = 0;  // floats, and of a prediction
  int64_t nodes = 0;    // of a graph
  int64_t edges = 0;
};

// Where a sample is written; spans are as long as its SampleSize says.
struct SampleSlot {
  std::span<float> inputs;
  std::span<float> targets;   // empty: not wanted
  std::span<int64_t> source;  // of a graph: the two ends of its edges...
  std::span<int64_t> sink;
  int64_t first_node = 0;  // ...numbered from here on
};

// Sums over samples from which metrics are computed; sums of ranks may be added.
struct ErrorSums {
  explicit ErrorSums(int outputs)
      : error(static_cast<size_t>(outputs)), magnitude(static_cast<size_t>(outputs)) {}
  std::vector<double> error;      // |prediction - target| by output, unit of the target
  std::vector<double> magnitude;  // |target| likewise
  double loss = 0;                // |error| in network units, all outputs
  double values = 0;              // numbers compared
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual int64_t size() const = 0;          // samples, whatever their role
  virtual int planes() const = 0;            // of a map; features of a row or a node
  virtual int outputs() const { return 1; }  // per pixel, row, graph or node
  virtual int64_t height() const { return 1; }
  virtual int64_t width() const { return 1; }
  virtual bool graphs() const { return false; }  // samples have nodes and edges
  virtual bool targets_per_node() const { return false; }  // of graphs
  // Number of versions of a sample; version 0 is the sample as it is.
  virtual int Transforms(bool /*turns*/) const { return 1; }

  virtual SampleSize Size(int64_t index) const = 0;
  virtual base::Status Encode(int64_t index, int transform,
                              const SampleSlot& slot) const = 0;

  // Constants of the encoding, computed from the training samples only. A checkpoint
  // carries them: other data give other constants.
  virtual base::Json Facts() const = 0;

  // A prediction in the unit of the target, for an output in network units.
  virtual void Decode(int64_t index, std::span<const float> output,
                      std::span<float> prediction) const = 0;
  virtual void AddErrors(int64_t index, std::span<const float> output,
                         ErrorSums& sums) const = 0;
  // Shape of the predictions of these samples one after the other.
  virtual std::vector<int64_t> PredictionShape(
      std::span<const int64_t> indices) const = 0;
};

// The source that the plan's model reads. Errors: those of MapSet, TableSet, GraphSet.
base::Result<std::unique_ptr<SampleSource>> OpenSampleSource(
    const record::TrainPlan& plan);

// TRAIN-0004: an index of the plan is outside 0 .. count-1 or in two roles.
base::Status CheckRoles(const record::TrainPlan& plan, int64_t count);
// TRAIN-0005 when a value is NaN or infinite.
base::Status CheckFinite(std::span<const float> values, const std::string& where);
// The training indices in ascending order: sums over them must not depend on the order
// in the plan.
std::vector<int64_t> SortedTrainIndices(const record::TrainPlan& plan);
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace stepslack::train
