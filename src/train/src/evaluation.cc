#include "evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "process_usage.h"
#include "sample_batch.h"
#include "sampler.h"
#include "stepslack/base/context.h"

namespace stepslack::train {
namespace {

constexpr size_t kEvaluationBatch = 8;
constexpr int kLatencyWarmUp = 5;
constexpr int kLatencyRepeats = 41;

// Runs the network on a few samples at a time.
class BatchPredictor {
 public:
  BatchPredictor(const SampleSource& source, model::Network& network)
      : source_(source), network_(network) {}

  // Outputs in network units, one sample behind the other.
  base::Result<std::span<const float>> Run(std::span<const int64_t> indices) {
    SS_RETURN_IF_ERROR(batch_.Fill(source_, indices, {}, {.targets = false}));
    int64_t floats = 0;
    for (int64_t index : indices) floats += source_.Size(index).targets;
    outputs_.resize(static_cast<size_t>(floats));
    SS_RETURN_IF_ERROR(network_.Predict(batch_.Part(0), outputs_));
    return std::span<const float>(outputs_);
  }

 private:
  const SampleSource& source_;
  model::Network& network_;
  SampleBatch batch_;
  std::vector<float> outputs_;
};

// Calls visit(index, output) for every sample of this rank's share.
template <typename Visit>
base::Status ForEachOutput(std::span<const int64_t> indices, const SampleSource& source,
                           model::Network& network, Visit&& visit) {
  BatchPredictor predictor(source, network);
  for (size_t at = 0; at < indices.size(); at += kEvaluationBatch) {
    const auto part =
        indices.subspan(at, std::min(kEvaluationBatch, indices.size() - at));
    SS_TRY(std::span<const float> outputs, predictor.Run(part));
    for (int64_t index : part) {
      const auto floats = static_cast<size_t>(source.Size(index).targets);
      visit(index, outputs.first(floats));
      outputs = outputs.subspan(floats);
    }
  }
  return {};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return 0.5 * (values[middle - 1] + values[middle]);
}

}  // namespace

base::Result<EvaluationResult> Evaluate(std::span<const int64_t> indices,
                                        const SampleSource& source,
                                        model::Network& network,
                                        comm::Communicator& communicator) {
  const std::vector<int64_t> share =
      RankShare(indices, communicator.rank(), communicator.world_size());
  ErrorSums sums(source.outputs());
  SS_RETURN_IF_ERROR(ForEachOutput(share, source, network,
                                   [&](int64_t index, std::span<const float> output) {
                                     source.AddErrors(index, output, sums);
                                   }));
  std::vector<double> all = {sums.loss, sums.values};
  all.insert(all.end(), sums.error.begin(), sums.error.end());
  all.insert(all.end(), sums.magnitude.begin(), sums.magnitude.end());
  SS_RETURN_IF_ERROR(communicator.AllReduceSum(std::span<double>(all)));
  const auto outputs = static_cast<size_t>(source.outputs());
  const auto error = std::span<const double>(all).subspan(2, outputs);
  const auto magnitude = std::span<const double>(all).subspan(2 + outputs);
  EvaluationResult result;
  double total_error = 0;
  for (size_t i = 0; i < outputs; ++i) {
    total_error += error[i];
    if (magnitude[i] > 0) result.relative_mae += error[i] / magnitude[i];
  }
  result.relative_mae /= static_cast<double>(outputs);
  result.mae = total_error / all[1];
  result.loss = all[0] / all[1];
  return result;
}

base::Result<std::vector<float>> PredictAll(std::span<const int64_t> indices,
                                            const SampleSource& source,
                                            model::Network& network,
                                            comm::Communicator& communicator) {
  const auto ranks = static_cast<size_t>(communicator.world_size());
  const std::vector<int64_t> share =
      RankShare(indices, communicator.rank(), communicator.world_size());
  std::vector<float> mine;
  SS_RETURN_IF_ERROR(ForEachOutput(
      share, source, network, [&](int64_t index, std::span<const float> output) {
        const size_t at = mine.size();
        mine.resize(at + output.size());
        source.Decode(index, output, std::span(mine).subspan(at));
      }));
  SS_TRY(const std::vector<std::string> parts,
         communicator.AllGather({reinterpret_cast<const char*>(mine.data()),
                                 mine.size() * sizeof(float)}));
  std::vector<float> predictions;
  if (communicator.rank() != 0) return predictions;
  std::vector<size_t> used(ranks);  // bytes of each rank's part
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::string& part = parts[i % ranks];
    const auto floats = static_cast<size_t>(source.Size(indices[i]).targets);
    const size_t bytes = floats * sizeof(float);
    SS_CHECK(used[i % ranks] + bytes <= part.size());
    const size_t at = predictions.size();
    predictions.resize(at + floats);
    std::memcpy(predictions.data() + at, part.data() + used[i % ranks], bytes);
    used[i % ranks] += bytes;
  }
  return predictions;
}

base::Result<Latency> MeasureLatency(std::span<const int64_t> indices,
                                     const SampleSource& source,
                                     model::Network& network) {
  std::vector<double> wall;
  std::vector<double> cpu;
  BatchPredictor predictor(source, network);
  std::vector<float> prediction;
  for (int repeat = 0; repeat < kLatencyWarmUp + kLatencyRepeats; ++repeat) {
    const size_t which = static_cast<size_t>(repeat) % indices.size();
    const int64_t start_ns = base::NowNs();
    const double start_cpu = ProcessCpuSeconds();
    SS_TRY(const std::span<const float> output,
           predictor.Run(indices.subspan(which, 1)));
    prediction.resize(output.size());
    source.Decode(indices[which], output, prediction);
    if (repeat < kLatencyWarmUp) continue;
    cpu.push_back(ProcessCpuSeconds() - start_cpu);
    wall.push_back(1e-9 * static_cast<double>(base::NowNs() - start_ns));
  }
  return Latency{Median(wall), Median(cpu)};
}

}  // namespace stepslack::train
