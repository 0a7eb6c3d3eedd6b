// Measures a network on samples that are sharded over the ranks without duplicates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sample_source.h"
#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/model/network.h"

namespace stepslack::train {

struct EvaluationResult {
  double loss = 0;          // mean absolute error in network units
  double relative_mae = 0;  // sum |error| / sum |target|; the mean over outputs
  double mae = 0;           // in the unit of the target, the mean over outputs
};

// The same result on every rank: sums are exchanged, then divided.
base::Result<EvaluationResult> Evaluate(std::span<const int64_t> indices,
                                        const SampleSource& source,
                                        model::Network& network,
                                        comm::Communicator& communicator);

// Predictions of `indices` in the unit of the target, in their order; complete on rank
// 0, empty elsewhere.
base::Result<std::vector<float>> PredictAll(std::span<const int64_t> indices,
                                            const SampleSource& source,
                                            model::Network& network,
                                            comm::Communicator& communicator);

struct Latency {
  double wall_seconds = 0;
  double cpu_seconds = 0;
};

// Median cost of one sample: encoding, network and decoding, a batch of one.
base::Result<Latency> MeasureLatency(std::span<const int64_t> indices,
                                     const SampleSource& source,
                                     model::Network& network);

}  // namespace stepslack::train
