#include "loader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <xmmintrin.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <set>

#include "map_set.h"
#include "tiny_run.h"

namespace stepslack::train {
namespace {

// Samples of two floats: the index and the transform. One of them may be bad.
class CountingSource : public SampleSource {
 public:
  explicit CountingSource(int64_t count) : count_(count) {}
  int64_t size() const override { return count_; }
  int planes() const override { return 2; }
  int Transforms(bool turns) const override { return turns ? 8 : 4; }
  SampleSize Size(int64_t) const override { return {2, 1, 0, 0}; }
  base::Status Encode(int64_t index, int transform,
                      const SampleSlot& slot) const override {
    ++encoded;
    if (index == bad) {
      return base::Fail("TEST-0001", base::ExitCode::kInput, "bad sample", "", "");
    }
    slot.inputs[0] = static_cast<float>(index);
    slot.inputs[1] = static_cast<float>(transform);
    slot.targets[0] = static_cast<float>(-index);
    return {};
  }
  base::Json Facts() const override { return {}; }
  void Decode(int64_t, std::span<const float>, std::span<float>) const override {}
  void AddErrors(int64_t, std::span<const float>, ErrorSums&) const override {}
  std::vector<int64_t> PredictionShape(std::span<const int64_t>) const override {
    return {};
  }
  int64_t bad = -1;
  mutable std::atomic<int64_t> encoded{0};

 private:
  int64_t count_;
};

Sampler SamplerOf(int64_t count, int64_t global_batch, int64_t samples) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return Sampler(std::move(indices), global_batch, samples, 11);
}

// Bytes of all inputs and targets of a rank from `done` on.
std::string AllBytes(const SampleSource& source, Sampler sampler,
                     LoaderOptions options) {
  Loader loader(source, std::move(sampler), options);
  std::string bytes;
  while (true) {
    const auto loaded = loader.Next();
    EXPECT_TRUE(loaded.has_value());
    if (!loaded.has_value() || (*loaded)->global.indices.empty()) return bytes;
    int64_t floats = 0, targets = 0;
    for (int64_t index : (*loaded)->share) {
      floats += source.Size(index).inputs;
      targets += source.Size(index).targets;
    }
    const model::Batch batch = (*loaded)->batch.Part(0);
    bytes.append(reinterpret_cast<const char*>(batch.inputs),
                 static_cast<size_t>(floats) * sizeof(float));
    bytes.append(reinterpret_cast<const char*>(batch.targets),
                 static_cast<size_t>(targets) * sizeof(float));
  }
}

RC_GTEST_PROP(Loader, EachSampleComesOnceAnEpochForAnyWorldSizeAndThreads, ()) {
  const auto count = *rc::gen::inRange<int64_t>(1, 30);
  const auto global_batch = *rc::gen::inRange<int64_t>(1, 12);
  const auto epochs = *rc::gen::inRange<int64_t>(1, 4);
  LoaderOptions options;
  options.world_size = *rc::gen::inRange(1, 6);
  options.threads = *rc::gen::inRange(0, 4);
  options.prefetch = *rc::gen::inRange(1, 5);
  const CountingSource source(count);
  std::vector<std::multiset<int64_t>> seen(static_cast<size_t>(epochs));
  for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
    Loader loader(source, SamplerOf(count, global_batch, count * epochs), options);
    while (true) {
      const LoadedBatch* loaded = loader.Next().value();
      if (loaded->global.indices.empty()) break;
      const model::Batch batch = loaded->batch.Part(0);
      RC_ASSERT(batch.samples == static_cast<int64_t>(loaded->share.size()));
      for (int64_t i = 0; i < batch.samples; ++i) {
        RC_ASSERT(batch.targets[i] == -batch.inputs[2 * i]);
        seen[static_cast<size_t>(loaded->global.epoch)].insert(
            static_cast<int64_t>(batch.inputs[2 * i]));
      }
    }
  }
  std::multiset<int64_t> once;
  for (int64_t i = 0; i < count; ++i) once.insert(i);
  for (const auto& epoch : seen) RC_ASSERT(epoch == once);
}

TEST(Loader, BytesDoNotDependOnThreadsNorOnWhereItStarts) {
  TinyRun run("loader");
  // Numbers so small that their treatment is a setting of each thread.
  run.inputs[2 * 256 + 5] = 1e-41F;
  run.WriteArrays();
  const MapSet maps = MapSet::Load(run.plan).value();
  const Sampler sampler(run.plan.train_indices, 3, 24, run.plan.seed);
  LoaderOptions options;
  options.threads = 0;
  options.transforms = 8;
  const unsigned mode = _MM_GET_FLUSH_ZERO_MODE();
  for (const unsigned denormals : {_MM_FLUSH_ZERO_ON, _MM_FLUSH_ZERO_OFF}) {
    _MM_SET_FLUSH_ZERO_MODE(denormals);
    options.done = 0;
    options.threads = 0;
    const std::string expected = AllBytes(maps, sampler, options);
    EXPECT_EQ(expected.size(), 24U * (5 + 1) * 256 * sizeof(float));
    for (const int threads : {1, 2, 5}) {
      options.threads = threads;
      options.prefetch = threads;
      EXPECT_TRUE(AllBytes(maps, sampler, options) == expected) << threads;
    }
    options.done = 11;  // 3 + 3 + 2, then 3 of the second epoch
    const std::string rest = AllBytes(maps, sampler, options);
    EXPECT_TRUE(expected.ends_with(rest));
    EXPECT_EQ(rest.size(), expected.size() / 24 * 13);
  }
  _MM_SET_FLUSH_ZERO_MODE(mode);
}

TEST(Loader, RanksSeeTheSameTransformOfASampleAndEpochsDiffer) {
  const CountingSource source(64);
  std::vector<std::vector<float>> by_epoch;
  for (const int world_size : {1, 3}) {
    std::vector<float> transforms(128, -1.0F);
    LoaderOptions options;
    options.world_size = world_size;
    options.transforms = 8;
    for (options.rank = 0; options.rank < world_size; ++options.rank) {
      Loader loader(source, SamplerOf(64, 10, 128), options);
      while (true) {
        const LoadedBatch* loaded = loader.Next().value();
        if (loaded->global.indices.empty()) break;
        const model::Batch batch = loaded->batch.Part(0);
        for (int64_t i = 0; i < batch.samples; ++i) {
          const auto at = static_cast<size_t>(
              64 * static_cast<float>(loaded->global.epoch) + batch.inputs[2 * i]);
          transforms[at] = batch.inputs[2 * i + 1];
        }
      }
    }
    by_epoch.push_back(transforms);
  }
  EXPECT_EQ(by_epoch[0], by_epoch[1]);
  const auto middle = by_epoch[0].begin() + 64;
  EXPECT_FALSE(std::equal(by_epoch[0].begin(), middle, middle));
}

TEST(Loader, AnErrorArrivesInItsTurnAndStays) {
  for (const int threads : {0, 1, 3}) {
    CountingSource source(40);
    LoaderOptions options;
    options.threads = threads;
    options.prefetch = 4;
    Sampler sampler = SamplerOf(40, 4, 40);
    source.bad = sampler.BatchAfter(12).indices[2];  // in the fourth batch
    Loader loader(source, sampler, options);
    for (int batch = 0; batch < 3; ++batch) EXPECT_TRUE(loader.Next().has_value());
    for (int again = 0; again < 2; ++again) {
      const auto loaded = loader.Next();
      ASSERT_FALSE(loaded.has_value()) << threads;
      EXPECT_EQ(loaded.error().id, "TEST-0001");
    }
  }
}

TEST(Loader, TheQueueIsBoundedAndALoaderMayEndAtAnyTime) {
  const CountingSource source(1000);
  LoaderOptions options;
  options.threads = 3;
  options.prefetch = 5;
  {
    Loader loader(source, SamplerOf(1000, 2, 1000), options);
    ASSERT_TRUE(loader.Next().has_value());
    // One batch is in use and five are ahead of it: 12 samples, and never more.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (source.encoded < 12 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(source.encoded, 12);
    EXPECT_EQ(loader.stats().batches, 1);
    EXPECT_EQ(loader.stats().threads, 3);
  }
  for (int i = 0; i < 50; ++i) {
    Loader loader(source, SamplerOf(1000, 2, 1000), options);
    for (int batch = 0; batch < i % 4; ++batch) ASSERT_TRUE(loader.Next().has_value());
  }
}

TEST(Loader, PartsOfABatchCoverItInOrder) {
  const CountingSource source(20);
  LoaderOptions options;
  options.parts = 3;
  Loader loader(source, SamplerOf(20, 8, 20), options);
  while (true) {
    const LoadedBatch* loaded = loader.Next().value();
    if (loaded->global.indices.empty()) break;
    ASSERT_EQ(loaded->batch.parts(), 3U);
    std::vector<int64_t> seen;
    for (size_t part = 0; part < 3; ++part) {
      const model::Batch batch = loaded->batch.Part(part);
      for (int64_t i = 0; i < batch.samples; ++i) {
        seen.push_back(static_cast<int64_t>(batch.inputs[2 * i]));
      }
    }
    EXPECT_EQ(seen, loaded->share);
  }
}

}  // namespace
}  // namespace stepslack::train
