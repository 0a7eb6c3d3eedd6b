#include "stepslack/analyze/phase_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "stepslack/base/text.h"

namespace stepslack::analyze {
namespace {

constexpr std::array<std::pair<std::string_view, Phase>, 22> kExactNames = {{
    {"data", Phase::kData},
    {"data_wait", Phase::kData},
    {"load", Phase::kData},
    {"dataloader", Phase::kData},
    {"load_batch", Phase::kData},
    {"wait_for_batch", Phase::kData},
    {"copy_batch_to_gpu", Phase::kData},
    {"forward", Phase::kForward},
    {"backward", Phase::kBackward},
    {"comm_wait", Phase::kCommWait},
    {"wait_comm", Phase::kCommWait},
    {"exposed_comm", Phase::kCommWait},
    {"communication", Phase::kCommWait},
    {"gradient_exchange", Phase::kCommWait},
    {"optimizer", Phase::kOptimizer},
    {"optimizer_step", Phase::kOptimizer},
    {"eval", Phase::kEval},
    {"evaluation", Phase::kEval},
    {"evaluate", Phase::kEval},
    {"validation", Phase::kEval},
    {"checkpoint", Phase::kCheckpoint},
    {"save_checkpoint", Phase::kCheckpoint},
}};

constexpr std::array<std::pair<std::string_view, Phase>, 2> kPrefixes = {{
    {"optimizer.step", Phase::kOptimizer},
    {"enumerate(dataloader", Phase::kData},
}};

// Lower case, without leading and trailing '#' and spaces.
std::string Normalised(std::string_view name) {
  const auto is_frame = [](char c) { return c == '#' || c == ' '; };
  while (!name.empty() && is_frame(name.front())) name.remove_prefix(1);
  while (!name.empty() && is_frame(name.back())) name.remove_suffix(1);
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kData:
      return "data";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kCommWait:
      return "comm_wait";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kEval:
      return "eval";
    case Phase::kCheckpoint:
      return "checkpoint";
    case Phase::kCollective:
      return "collective";
    case Phase::kOther:
      return "other";
  }
  return "other";
}

Phase PhaseOfSpan(std::string_view name) {
  const std::string normal = Normalised(name);
  for (const auto& [known, phase] : kExactNames) {
    if (normal == known) return phase;
  }
  for (const auto& [prefix, phase] : kPrefixes) {
    if (normal.starts_with(prefix)) return phase;
  }
  return Phase::kOther;
}

int64_t StepOfSpan(std::string_view name) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  if (!name.starts_with(kPrefix)) return -1;
  const auto number = base::ParseInt(name.substr(kPrefix.size()));
  return number && *number >= 0 ? *number : -1;
}

}  // namespace stepslack::analyze
