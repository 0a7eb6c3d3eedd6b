#include "tiny_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "stepslack/base/file.h"
#include "stepslack/base/random.h"
#include "stepslack/record/array_file.h"

namespace stepslack::train {

TinyRun::TinyRun(const std::string& name)
    : folder_(testing::TempDir() + name + "_" + std::to_string(::getpid())) {
  std::filesystem::remove_all(folder_);
  EXPECT_TRUE(base::MakeFolders(folder_).has_value());
  base::Random random(5);
  const int64_t pixels = kSide * kSide;
  for (int64_t map = 0; map < kMaps; ++map) {
    const double load = random.Uniform(10, 50);
    const double row = random.Uniform(0, kSide);
    std::vector<double> current, kind, distance;
    for (int64_t i = 0; i < pixels; ++i) {
      const double y = static_cast<double>(i / kSide);
      const bool lower = y > static_cast<double>(kSide) / 2;
      current.push_back(load * (lower ? 1.5 : 0.5));
      kind.push_back(random.Uniform() < 0.5 ? 0.0 : 1.0);
      distance.push_back(std::fabs(y - row) + 1);
    }
    for (const auto* channel : {&current, &kind, &distance}) {
      for (double value : *channel) inputs.push_back(static_cast<float>(value));
    }
    for (size_t i = 0; i < static_cast<size_t>(pixels); ++i) {
      targets.push_back(static_cast<float>(0.02 * load * distance[i]));
    }
  }
  plan.inputs_path = Path("inputs.npy");
  plan.targets_path = Path("targets.npy");
  plan.train_indices = {0, 1, 2, 3, 4, 5, 6, 7};
  plan.validation_indices = {8, 9, 10};
  plan.test_indices = {13, 11, 12};
  plan.categorical_channels = {1};
  plan.category_counts = {2};
  plan.base_channels = 4;
  plan.levels = 3;
  plan.global_batch = 3;  // 8 = 3 + 3 + 2: uneven over two ranks
  plan.samples = 24;
  plan.learning_rate = 5e-3;
  plan.warmup_samples = 6;
  plan.eval_every_samples = 8;
  plan.checkpoint_every_samples = 8;
  plan.first_bucket_bytes = 1 << 10;
  plan.bucket_bytes = 4 << 10;
  plan.timeout_seconds = 20;
  plan.trace_first_step = 2;
  plan.trace_steps = 3;
  WriteArrays();
  WritePlan();
}

TinyRun::~TinyRun() { std::filesystem::remove_all(folder_); }

std::string TinyRun::Path(const std::string& file) const {
  return base::JoinPath(folder_, file);
}

void TinyRun::WritePlan() const {
  EXPECT_TRUE(base::WriteFileAtomic(Path("plan.json"), record::ToJson(plan).Dump())
                  .has_value());
}

void TinyRun::WriteArrays() const {
  EXPECT_TRUE(record::WriteNpy(Path("inputs.npy"), {kMaps, kChannels, kSide, kSide},
                               inputs.data())
                  .has_value());
  EXPECT_TRUE(
      record::WriteNpy(Path("targets.npy"), {kMaps, kSide, kSide}, targets.data())
          .has_value());
}

}  // namespace stepslack::train
