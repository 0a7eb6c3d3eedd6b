#include "stepslack/model/runtime.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <string_view>

namespace stepslack::model {
namespace {

// LibTorch tells the vector width it uses only in this text.
std::string CpuCapability() {
  constexpr std::string_view kLabel = "CPU capability usage: ";
  const std::string config = at::show_config();
  const size_t at = config.find(kLabel);
  if (at == std::string::npos) return "unknown";
  const size_t begin = at + kLabel.size();
  return config.substr(begin, config.find('\n', begin) - begin);
}

}  // namespace

void ConfigureRuntime() {
  at::set_num_threads(1);
  at::globalContext().setFlushDenormal(true);
}

std::map<std::string, std::string> RuntimeFacts() {
  std::map<std::string, std::string> facts;
  facts["libtorch"] = TORCH_VERSION;
  facts["cpu_capability"] = CpuCapability();
  facts["threads"] = std::to_string(at::get_num_threads());
  facts["onednn"] = at::get_mkldnn_version();
  return facts;
}

}  // namespace stepslack::model
