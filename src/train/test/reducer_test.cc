#include "reducer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "norms.h"
#include "rank_threads.h"
#include "sampler.h"
#include "stepslack/base/random.h"
#include "stepslack/model/network.h"

namespace stepslack::train {
namespace {

constexpr int64_t kSide = 8;
constexpr int64_t kBatch = 5;
constexpr int64_t kPlanes = 2;

struct Samples {
  Samples() {
    base::Random random(11);
    for (int64_t i = 0; i < kBatch * kPlanes * kSide * kSide; ++i) {
      inputs.push_back(static_cast<float>(random.Normal()));
    }
    for (int64_t i = 0; i < kBatch * kSide * kSide; ++i) {
      targets.push_back(static_cast<float>(random.Uniform()));
    }
  }
  void Append(int64_t index, std::vector<float>& to_inputs,
              std::vector<float>& to_targets) const {
    const int64_t pixels = kSide * kSide;
    const auto input = inputs.begin() + index * kPlanes * pixels;
    to_inputs.insert(to_inputs.end(), input, input + kPlanes * pixels);
    const auto target = targets.begin() + index * pixels;
    to_targets.insert(to_targets.end(), target, target + pixels);
  }
  std::vector<float> inputs, targets;
};

struct Split {
  int world_size = 1;
  int parts = 1;  // of accumulation
};

// One gradient of the first `batch` samples; the buffers of every rank.
std::vector<std::vector<float>> Gradients(const Split& split,
                                          const ReducerOptions& options,
                                          int64_t batch = kBatch) {
  const Samples samples;
  std::vector<int64_t> order = {3, 0, 4, 1, 2};
  order.resize(static_cast<size_t>(batch));
  std::vector<std::vector<float>> results(static_cast<size_t>(split.world_size));
  RunRanks(split.world_size, [&](comm::Communicator& communicator) {
    auto network = model::Network::Create({kPlanes, 4, 3, 1, split.world_size});
    ASSERT_TRUE(network.has_value());
    const auto rank = static_cast<size_t>(communicator.rank());
    const std::span<float> gradients = network->gradients();
    const size_t floats = network->values().size();
    Reducer reducer(options, network->parameters(), floats, gradients, communicator);
    network->OnGradientReady([&](size_t parameter) { reducer.Ready(parameter); });
    reducer.Begin(1);
    const auto share = RankShare(order, communicator.rank(), split.world_size);
    const size_t parts = std::min(share.size(), static_cast<size_t>(split.parts));
    for (size_t part = 0; part < parts; ++part) {
      const size_t first = part * share.size() / parts;
      const size_t end = (part + 1) * share.size() / parts;
      std::vector<float> inputs, targets;
      for (int64_t index : std::span(share).subspan(first, end - first)) {
        samples.Append(index, inputs, targets);
      }
      const auto loss = network->Forward({static_cast<int64_t>(end - first), kSide,
                                          kSide, inputs.data(), targets.data()},
                                         1.0 / static_cast<double>(batch));
      ASSERT_TRUE(loss.has_value());
      gradients[floats + rank] += static_cast<float>(*loss);
      reducer.set_accumulating(part + 1 < parts);
      ASSERT_TRUE(network->Backward().has_value());
    }
    ASSERT_TRUE(reducer.Finish().has_value());
    EXPECT_NEAR(reducer.gradient_norm(), GlobalNorm(gradients.first(floats)),
                1e-12 * reducer.gradient_norm());
    EXPECT_EQ(reducer.NotFiniteParameter(), "");
    const bool alone = reducer.mode() == ExchangeMode::kNone;
    const bool half = options.compression.method == CompressionMethod::kBfloat16;
    const auto plain = static_cast<int64_t>(gradients.size_bytes());
    const auto saved = static_cast<int64_t>(half ? floats * 2 : 0);
    EXPECT_EQ(reducer.bytes_per_step(), alone ? 0 : plain - saved);
    results[rank].assign(gradients.begin(), gradients.end());
  });
  return results;
}

// Against one rank with all samples; `result` has a loss slot a rank behind.
void ExpectSameGradient(const std::vector<float>& one,
                        const std::vector<float>& result) {
  const size_t floats = one.size() - 1;
  double scale = 0;
  for (float value : one) {
    scale = std::max(scale, std::fabs(static_cast<double>(value)));
  }
  for (size_t i = 0; i < floats; ++i) ASSERT_NEAR(one[i], result[i], 2e-6 * scale) << i;
  float loss = 0;
  for (size_t i = floats; i < result.size(); ++i) loss += result[i];
  EXPECT_NEAR(loss, one.back(), 1e-6);
}

ReducerOptions Small(ExchangeMode mode) {
  ReducerOptions options;
  options.buckets = {1 << 10, 4 << 10, 1 << 10};
  options.mode = mode;
  return options;
}

TEST(Reducer, OneToEightRanksGetTheGradientOfOneRankWithAllSamples) {
  const auto one = Gradients({1}, {});
  for (int ranks = 2; ranks <= 8; ++ranks) {  // 5 samples: uneven, then none for some
    const auto mode = ranks % 2 == 0 ? ExchangeMode::kOverlap : ExchangeMode::kBlocking;
    const auto many = Gradients({ranks}, Small(mode));
    for (const auto& result : many) {
      ExpectSameGradient(one[0], result);
      EXPECT_EQ(result, many[0]) << ranks;  // bit-equal between ranks
    }
  }
}

TEST(Reducer, AShortBatchIsTheMeanOverItsOwnSamples) {
  const auto one = Gradients({1}, {}, 2);
  const auto many = Gradients({3}, Small(ExchangeMode::kOverlap), 2);
  ExpectSameGradient(one[0], many[0]);
}

TEST(Reducer, AccumulatedPartsGiveTheGradientOfTheWholeBatchWithOneExchange) {
  const auto one = Gradients({1}, {});
  for (int parts : {2, 3, 9}) {  // 3 and 2 samples a rank: more parts than samples
    for (auto mode : {ExchangeMode::kOverlap, ExchangeMode::kBlocking}) {
      const auto many = Gradients({2, parts}, Small(mode));
      ExpectSameGradient(one[0], many[0]);
      EXPECT_EQ(many[0], many[1]);
    }
  }
  ExpectSameGradient(one[0], Gradients({1, 3}, {})[0]);
}

TEST(Reducer, BothModesGiveTheSameBitsOnTwoRanks) {
  EXPECT_EQ(Gradients({2}, Small(ExchangeMode::kOverlap)),
            Gradients({2}, Small(ExchangeMode::kBlocking)));
}

TEST(Reducer, Bfloat16BucketsOverlapAndAddUpLikeTheWholeBuffer) {
  const auto one = Gradients({1}, {});
  std::vector<std::vector<std::vector<float>>> found;
  for (auto mode : {ExchangeMode::kOverlap, ExchangeMode::kBlocking}) {
    ReducerOptions options = Small(mode);
    options.compression.method = CompressionMethod::kBfloat16;
    found.push_back(Gradients({3}, options));
    EXPECT_EQ(found.back()[0], found.back()[2]);
  }
  EXPECT_EQ(found[0], found[1]);  // buckets change nothing
  double scale = 0;
  for (float value : one[0]) {
    scale = std::max(scale, std::fabs(static_cast<double>(value)));
  }
  // Three roundings to 8 bits of values of at most the scale or so.
  for (size_t i = 0; i + 1 < one[0].size(); ++i) {
    ASSERT_NEAR(found[0][0][i], one[0][i], 3 * scale / 256);
  }
}

TEST(Reducer, TopKAndPowerSgdNeedTheWholeBuffer) {
  RunRanks(2, [](comm::Communicator& communicator) {
    std::vector<float> gradients(64);
    ReducerOptions options;
    for (auto method : {CompressionMethod::kTopK, CompressionMethod::kPowerSgd}) {
      options.compression.method = method;
      Reducer reducer(options, {}, 64, gradients, communicator);
      EXPECT_EQ(reducer.mode(), ExchangeMode::kBlocking);
    }
  });
}

TEST(Reducer, WithoutExchangeEveryRankKeepsItsOwn) {
  const auto apart = Gradients({2}, Small(ExchangeMode::kNone));
  EXPECT_NE(apart[0], apart[1]);
}

// Four vectors of 16 floats, a bucket each, and one float behind them.
constexpr size_t kFloats = 64;

std::vector<model::ParameterInfo> FourVectors() {
  model::ParameterLayout layout;
  for (const char* name : {"a", "b", "c", "d"}) layout.AddVector(name, 16, 0.0);
  return layout.parameters();
}

ReducerOptions OneBucketAVector() {
  ReducerOptions options;
  options.buckets = {0, 0, 0};
  return options;
}

TEST(Reducer, AParameterWithoutGradientOnOneRankOrOnAllDoesNotHang) {
  RunRanks(3, [](comm::Communicator& communicator) {
    std::vector<float> gradients(kFloats + 1);
    Reducer reducer(OneBucketAVector(), FourVectors(), kFloats, gradients,
                    communicator);
    // Rank 1 does not use "d", whose bucket goes first; no rank uses "b".
    for (int64_t step = 1; step <= 2; ++step) {
      std::fill(gradients.begin(), gradients.end(), 0.0F);
      reducer.Begin(step);
      for (size_t parameter : {3, 2, 0}) {
        if (parameter == 3 && communicator.rank() == 1) continue;
        std::fill_n(gradients.begin() + static_cast<int>(parameter) * 16, 16, 1.0F);
        reducer.Ready(parameter);
      }
      ASSERT_TRUE(reducer.Finish().has_value());
      EXPECT_EQ(gradients[0], 3.0F);
      EXPECT_EQ(gradients[16], 0.0F);
      EXPECT_EQ(gradients[32], 3.0F);
      EXPECT_EQ(gradients[48], 2.0F);
      EXPECT_NEAR(reducer.gradient_norm(), std::sqrt(16.0 * (9 + 9 + 4)), 1e-12);
    }
  });
}

TEST(Reducer, BucketsGoInOrderWhateverTheOrderOfReadiness) {
  RunRanks(2, [](comm::Communicator& communicator) {
    std::vector<float> gradients(kFloats + 1, 1.0F);
    Reducer reducer(OneBucketAVector(), FourVectors(), kFloats, gradients,
                    communicator);
    reducer.Begin(1);
    const bool ascending = communicator.rank() == 0;
    for (size_t i = 0; i < 4; ++i) reducer.Ready(ascending ? i : 3 - i);
    reducer.Ready(0);  // twice does no harm
    ASSERT_TRUE(reducer.Finish().has_value());
    for (float value : gradients) EXPECT_EQ(value, 2.0F);
  });
}

TEST(Reducer, NotANumberOnOneRankIsSeenByAllInThatStep) {
  for (auto mode : {ExchangeMode::kOverlap, ExchangeMode::kBlocking}) {
    RunRanks(3, [&](comm::Communicator& communicator) {
      ReducerOptions options = OneBucketAVector();
      options.mode = mode;
      if (communicator.rank() == 2) options.fault = ExchangeFault::kNanGradient;
      options.fault_step = 2;
      std::vector<float> gradients(kFloats + 1);
      Reducer reducer(options, FourVectors(), kFloats, gradients, communicator);
      reducer.Begin(1);
      ASSERT_TRUE(reducer.Finish().has_value());
      EXPECT_EQ(reducer.gradient_norm(), 0.0);
      reducer.Begin(2);
      ASSERT_TRUE(reducer.Finish().has_value());
      EXPECT_TRUE(std::isnan(reducer.gradient_norm()));
      EXPECT_NE(reducer.NotFiniteParameter(), "");
    });
  }
}

// The all-reduces of one step in which both ranks have the same fault, which therefore
// harms nobody.
std::vector<std::pair<std::string, int64_t>> CollectivesWith(ExchangeFault fault,
                                                             ExchangeMode mode) {
  std::vector<std::pair<std::string, int64_t>> collectives;
  RunRanks(2, [&](comm::Communicator& communicator) {
    ReducerOptions options = OneBucketAVector();
    options.mode = mode;
    options.fault = fault;
    options.fault_step = 1;
    std::vector<float> gradients(kFloats + 1);
    Reducer reducer(options, FourVectors(), kFloats, gradients, communicator);
    const int64_t before = communicator.record_count();
    reducer.Begin(1);
    ASSERT_TRUE(reducer.Finish().has_value());
    const auto records = communicator.Records(before);
    if (communicator.rank() != 0) return;
    for (const auto& record : records) {
      collectives.emplace_back(std::string(record.dtype), record.elements);
    }
  });
  return collectives;
}

TEST(Reducer, FaultsSpoilTheFirstCollectiveOfTheirStep) {
  using List = std::vector<std::pair<std::string, int64_t>>;
  const auto overlap = ExchangeMode::kOverlap;
  const auto blocking = ExchangeMode::kBlocking;
  EXPECT_EQ(CollectivesWith(ExchangeFault::kNone, overlap),
            (List{{"Float", 17}, {"Float", 16}, {"Float", 16}, {"Float", 16}}));
  EXPECT_EQ(CollectivesWith(ExchangeFault::kSkipCollective, overlap),
            (List{{"Float", 16}, {"Float", 16}, {"Float", 16}}));
  EXPECT_EQ(CollectivesWith(ExchangeFault::kWrongSize, overlap),
            (List{{"Float", 16}, {"Float", 16}, {"Float", 16}, {"Float", 16}}));
  EXPECT_EQ(CollectivesWith(ExchangeFault::kWrongDtype, overlap),
            (List{{"Double", 17}, {"Float", 16}, {"Float", 16}, {"Float", 16}}));
  EXPECT_EQ(CollectivesWith(ExchangeFault::kNone, blocking), (List{{"Float", 65}}));
  EXPECT_EQ(CollectivesWith(ExchangeFault::kSkipCollective, blocking), List());
  EXPECT_EQ(CollectivesWith(ExchangeFault::kWrongSize, blocking),
            (List{{"Float", 64}}));
}

TEST(Reducer, TuningKeepsOneLayoutOfAllRanksAndTheSumsRight) {
  model::ParameterLayout layout;
  for (int i = 0; i < 6; ++i) layout.AddVector("v" + std::to_string(i), 1 << 16, 0.0);
  const auto floats = static_cast<size_t>(layout.buffer_floats());  // 6 x 256 KB
  std::vector<int64_t> chosen(2);
  RunRanks(2, [&](comm::Communicator& communicator) {
    ReducerOptions options;
    options.tune_buckets = true;
    std::vector<float> gradients(floats + 2);
    Reducer reducer(options, layout.parameters(), floats, gradients, communicator);
    for (int64_t step = 1; reducer.tuned_bucket_bytes() == 0; ++step) {
      ASSERT_LE(step, 20);
      std::fill(gradients.begin(), gradients.end(), 1.0F);
      reducer.Begin(step);
      ASSERT_TRUE(reducer.Finish().has_value());
      EXPECT_EQ(gradients.front(), 2.0F);
      EXPECT_EQ(gradients.back(), 2.0F);
    }
    chosen[static_cast<size_t>(communicator.rank())] = reducer.tuned_bucket_bytes();
    // A resumed run takes the choice over and does not tune again.
    Reducer resumed(options, layout.parameters(), floats, gradients, communicator);
    resumed.set_tuned_bucket_bytes(reducer.tuned_bucket_bytes());
    EXPECT_EQ(resumed.bucket_count(), reducer.bucket_count());
    resumed.Begin(1);
    ASSERT_TRUE(resumed.Finish().has_value());
    EXPECT_EQ(resumed.bucket_count(), reducer.bucket_count());
  });
  EXPECT_EQ(chosen[0], chosen[1]);
}

TEST(ReducerOptionsOf, OverlapsOnlyWhereThatPays) {
  for (const char* backend : {"shm", "gloo"}) {
    const auto body = [&](comm::Communicator& communicator) {
      record::TrainPlan plan;
      const auto mode = ReducerOptionsOf(plan, communicator).mode;
      const bool shared = communicator.transport_name() == "shm";
      EXPECT_EQ(mode, shared ? ExchangeMode::kBlocking : ExchangeMode::kOverlap);
      EXPECT_EQ(shared, std::string(backend) == "shm");
      plan.overlap = false;
      EXPECT_EQ(ReducerOptionsOf(plan, communicator).mode, ExchangeMode::kBlocking);
      plan.synchronise = false;
      EXPECT_EQ(ReducerOptionsOf(plan, communicator).mode, ExchangeMode::kNone);
    };
    RunRanks(2, body, backend);
  }
  RunRanks(1, [](comm::Communicator& communicator) {
    EXPECT_EQ(ReducerOptionsOf({}, communicator).mode, ExchangeMode::kNone);
  });
}

TEST(ReducerOptionsOf, OnlyTheNamedRankIsAtFault) {
  RunRanks(2, [](comm::Communicator& communicator) {
    record::TrainPlan plan;
    plan.fault_rank = 1;
    plan.fault = "wrong_size";
    plan.fault_step = 7;
    const ReducerOptions options = ReducerOptionsOf(plan, communicator);
    EXPECT_EQ(options.fault, communicator.rank() == 1 ? ExchangeFault::kWrongSize
                                                      : ExchangeFault::kNone);
    EXPECT_EQ(options.fault_step, 7);
  });
}

}  // namespace
}  // namespace stepslack::train
