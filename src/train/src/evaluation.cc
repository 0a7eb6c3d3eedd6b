#include "evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "process_usage.h"
#include "sampler.h"
#include "stepslack/base/context.h"

namespace stepslack::train {
namespace {

constexpr size_t kEvaluationBatch = 8;
constexpr int kLatencyWarmUp = 5;
constexpr int kLatencyRepeats = 41;

// Runs the network on up to kEvaluationBatch samples at a time.
class BatchPredictor {
 public:
  BatchPredictor(const MapSet& maps, model::Network& network)
      : maps_(maps),
        network_(network),
        planes_(static_cast<size_t>(maps.planes()) *
                static_cast<size_t>(maps.pixels())),
        pixels_(static_cast<size_t>(maps.pixels())),
        inputs_(kEvaluationBatch * planes_),
        outputs_(kEvaluationBatch * pixels_) {}

  // Outputs in network units, indices.size() maps.
  base::Result<std::span<const float>> Run(std::span<const int64_t> indices) {
    for (size_t i = 0; i < indices.size(); ++i) {
      maps_.EncodeInputs(indices[i], 0,
                         std::span(inputs_).subspan(i * planes_, planes_));
    }
    const model::Batch batch{static_cast<int64_t>(indices.size()), maps_.height(),
                             maps_.width(), inputs_.data(), nullptr};
    const auto outputs = std::span(outputs_).first(indices.size() * pixels_);
    SS_RETURN_IF_ERROR(network_.Predict(batch, outputs));
    return std::span<const float>(outputs);
  }

 private:
  const MapSet& maps_;
  model::Network& network_;
  size_t planes_;
  size_t pixels_;
  std::vector<float> inputs_;
  std::vector<float> outputs_;
};

// Calls visit(index, output) for every sample of this rank's share.
template <typename Visit>
base::Status ForEachOutput(std::span<const int64_t> indices, const MapSet& maps,
                           model::Network& network, Visit&& visit) {
  BatchPredictor predictor(maps, network);
  const auto pixels = static_cast<size_t>(maps.pixels());
  for (size_t at = 0; at < indices.size(); at += kEvaluationBatch) {
    const auto part =
        indices.subspan(at, std::min(kEvaluationBatch, indices.size() - at));
    SS_TRY(const std::span<const float> outputs, predictor.Run(part));
    for (size_t i = 0; i < part.size(); ++i) {
      visit(part[i], outputs.subspan(i * pixels, pixels));
    }
  }
  return {};
}

struct Sums {
  double error_mv = 0;
  double target_mv = 0;
  double loss = 0;
  double pixels = 0;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return 0.5 * (values[middle - 1] + values[middle]);
}

}  // namespace

base::Result<EvaluationResult> Evaluate(std::span<const int64_t> indices,
                                        const MapSet& maps, model::Network& network,
                                        comm::Communicator& communicator) {
  const std::vector<int64_t> share =
      RankShare(indices, communicator.rank(), communicator.world_size());
  Sums sums;
  SS_RETURN_IF_ERROR(ForEachOutput(
      share, maps, network, [&](int64_t index, std::span<const float> output) {
        const double unit = maps.TargetUnit(index);
        const std::span<const float> target = maps.Target(index);
        double error = 0;
        double magnitude = 0;
        for (size_t i = 0; i < output.size(); ++i) {
          const auto truth = static_cast<double>(target[i]);
          error += std::fabs(static_cast<double>(output[i]) * unit - truth);
          magnitude += std::fabs(truth);
        }
        sums.error_mv += error;
        sums.target_mv += magnitude;
        sums.loss += error / unit;
        sums.pixels += static_cast<double>(output.size());
      }));
  double all[] = {sums.error_mv, sums.target_mv, sums.loss, sums.pixels};
  SS_RETURN_IF_ERROR(communicator.AllReduceSum(std::span<double>(all)));
  EvaluationResult result;
  result.relative_mae = all[1] > 0 ? all[0] / all[1] : 0.0;
  result.mae_mv = all[0] / all[3];
  result.loss = all[2] / all[3];
  return result;
}

base::Result<std::vector<float>> PredictAll(std::span<const int64_t> indices,
                                            const MapSet& maps, model::Network& network,
                                            comm::Communicator& communicator) {
  const int ranks = communicator.world_size();
  const std::vector<int64_t> share = RankShare(indices, communicator.rank(), ranks);
  std::string mine;
  SS_RETURN_IF_ERROR(ForEachOutput(
      share, maps, network, [&](int64_t index, std::span<const float> output) {
        const double unit = maps.TargetUnit(index);
        for (float value : output) {
          const auto drop = static_cast<float>(static_cast<double>(value) * unit);
          mine.append(reinterpret_cast<const char*>(&drop), sizeof(drop));
        }
      }));
  SS_TRY(const std::vector<std::string> parts, communicator.AllGather(mine));
  std::vector<float> predictions;
  if (communicator.rank() != 0) return predictions;
  const auto pixels = static_cast<size_t>(maps.pixels());
  const size_t map_bytes = pixels * sizeof(float);
  predictions.resize(indices.size() * pixels);
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::string& part = parts[i % static_cast<size_t>(ranks)];
    const size_t at = i / static_cast<size_t>(ranks) * map_bytes;
    SS_CHECK(at + map_bytes <= part.size());
    std::memcpy(predictions.data() + i * pixels, part.data() + at, map_bytes);
  }
  return predictions;
}

base::Result<Latency> MeasureLatency(std::span<const int64_t> indices,
                                     const MapSet& maps, model::Network& network) {
  std::vector<double> wall;
  std::vector<double> cpu;
  BatchPredictor predictor(maps, network);
  std::vector<float> drop(static_cast<size_t>(maps.pixels()));
  for (int repeat = 0; repeat < kLatencyWarmUp + kLatencyRepeats; ++repeat) {
    const size_t which = static_cast<size_t>(repeat) % indices.size();
    const int64_t start_ns = base::NowNs();
    const double start_cpu = ProcessCpuSeconds();
    SS_TRY(const std::span<const float> output,
           predictor.Run(indices.subspan(which, 1)));
    const auto unit = static_cast<float>(maps.TargetUnit(indices[which]));
    std::transform(output.begin(), output.end(), drop.begin(),
                   [unit](float value) { return value * unit; });
    if (repeat < kLatencyWarmUp) continue;
    cpu.push_back(ProcessCpuSeconds() - start_cpu);
    wall.push_back(1e-9 * static_cast<double>(base::NowNs() - start_ns));
  }
  return Latency{Median(wall), Median(cpu)};
}

}  // namespace stepslack::train
