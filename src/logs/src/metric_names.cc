#include "metric_names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "stepslack/base/text.h"
#include "stepslack/logs/series_set.h"

namespace stepslack::logs {
namespace {

struct Entry {
  std::string_view spelling;  // normalised
  std::string_view metric;
};

// Spellings of the sources named in docs/formats_logs.md. Sorted by metric.
constexpr auto kSpellings = std::to_array<Entry>({
    {"loss", kLoss},
    {"lm_loss", kLoss},
    {"train_loss", kLoss},
    {"training_loss", kLoss},
    {"reduced_train_loss", kLoss},
    {"train_loss_step", kLoss},
    {"loss_metrics_global_avg_loss", kLoss},
    {"learning_rate", kLearningRate},
    {"lr", kLearningRate},
    {"train_learning_rate", kLearningRate},
    {"train_lr", kLearningRate},
    {"grad_norm", kGradNorm},
    {"train_grad_norm", kGradNorm},
    {"gradient_norm", kGradNorm},
    {"global_batch_size", kBatch},
    {"gloabl_batch_size", kBatch},  // a fork writes it so
    {"train_batch_size", kBatch},
    {"consumed_samples", kSamples},
    {"samples_total", kSamples},
    {"train_consumed_samples", kSamples},
    {"consumed_tokens", kTokens},
    {"num_input_tokens_seen", kTokens},
    {"actual_seqlen", kSequenceLength},
    {"samples_per_second", kSamplesPerSecond},
    {"samples_per_sec", kSamplesPerSecond},
    {"currsamplespersec", kSamplesPerSecond},
    {"samplespersec", kSamplesPerSecond},
    {"tokens_per_second", kTokensPerSecond},
    {"tokens_per_sec", kTokensPerSecond},
    {"tokens_per_gpu_per_second_tgs", kTokensPerSecondPerDevice},
    {"tokens_per_second_per_gpu", kTokensPerSecondPerDevice},
    {"tokens_per_sec_per_gpu", kTokensPerSecondPerDevice},
    {"tps", kTokensPerSecondPerDevice},
    {"throughput_tps", kTokensPerSecondPerDevice},
    {"elapsed_time_per_iteration", kStepSeconds},
    {"train_step_timing", kStepSeconds},
    {"iteration_time", kStepSeconds},
    {"step_time", kStepSeconds},
    {"step_time_s", kStepSeconds},
    {"iteration_time_s", kStepSeconds},
    {"step_seconds", kStepSeconds},
    {"tflops", kTflops},
    {"throughput_per_gpu_tflop_s_gpu", kTflops},
    {"memory_allocated", kMemoryBytes},
    {"mem_allocated_bytes", kMemoryBytes},
    {"peak_memory_usage", kPeakMemoryBytes},
    {"mem_max_allocated_bytes", kPeakMemoryBytes},
    {"eval_loss", kEvalLoss},
    {"val_loss", kEvalLoss},
    {"valid_loss", kEvalLoss},
    {"validation_loss", kEvalLoss},
    {"test_loss", kEvalLoss},
    {"eval_accuracy", kEvalAccuracy},
    {"eval_acc", kEvalAccuracy},
    {"val_accuracy", kEvalAccuracy},
    {"val_acc", kEvalAccuracy},
    {"validation_accuracy", kEvalAccuracy},
    {"epoch", kEpoch},
    {"loss_scale", "loss_scale"},
    {"params_norm", "params_norm"},
    {"num_zeros", "num_zeros"},
    {"number_of_skipped_iterations", "skipped_steps"},
    {"number_of_nan_iterations", "nan_steps"},
    {"mfu", "mfu"},
});

std::string Normalised(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out += static_cast<char>(std::tolower(byte));
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

std::string UnitOf(std::string_view metric) {
  if (metric == kStepSeconds || metric.ends_with("_seconds")) return "s";
  if (metric.ends_with("_bytes")) return "bytes";
  if (metric == kSamplesPerSecond) return "samples/s";
  if (metric == kTokensPerSecond) return "tokens/s";
  if (metric == kTokensPerSecondPerDevice) return "tokens/s/device";
  if (metric == kTflops) return "TFLOP/s/device";
  if (metric == kBatch || metric == kSamples) return "samples";
  if (metric == kTokens || metric == kSequenceLength) return "tokens";
  return "";
}

bool CutEnd(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text = base::Trim(text.substr(0, text.size() - end.size()));
  return true;
}

}  // namespace

MetricName NameMetric(std::string_view original) {
  std::string_view text = base::Trim(original);
  MetricName name;
  bool has_unit = true;
  if (CutEnd(text, "(ms)")) {
    name.divisor = 1000;
  } else {
    has_unit = CutEnd(text, "(s)") || CutEnd(text, " in s");
  }
  const std::string spelling = Normalised(text);
  const auto found =
      std::find_if(kSpellings.begin(), kSpellings.end(),
                   [&](const Entry& e) { return e.spelling == spelling; });
  name.known = found != kSpellings.end();
  name.metric = name.known ? std::string(found->metric) : std::string(original);
  name.unit = name.known ? UnitOf(name.metric) : has_unit ? "s" : "";
  // A unit of time behind a metric that is no time is a part of its name.
  if (name.known && has_unit && name.unit != "s") name.divisor = 1;
  return name;
}

}  // namespace stepslack::logs
