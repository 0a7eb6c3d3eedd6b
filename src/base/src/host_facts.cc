#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>

#include "stepslack/base/file.h"
#include "stepslack/base/parallel.h"
#include "stepslack/base/process.h"
#include "stepslack/base/text.h"

namespace stepslack::base {
namespace {

// Value of the first "key : value" line of a /proc file; empty when absent.
std::string ProcField(const std::string& path, std::string_view key) {
  const auto text = ReadFile(path);
  if (!text) return {};
  for (const std::string_view line : Split(*text, '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && Trim(line.substr(0, colon)) == key) {
      return std::string(Trim(line.substr(colon + 1)));
    }
  }
  return {};
}

// What libblas.so.3 resolves to: reference BLAS trains several times slower.
std::string BlasLibrary() {
  for (const char* link : {"/etc/alternatives/libblas.so.3-x86_64-linux-gnu",
                           "/etc/alternatives/libblas.so.3-aarch64-linux-gnu",
                           "/etc/alternatives/libblas.so.3"}) {
    std::error_code error;
    const auto target = std::filesystem::canonical(link, error);
    if (!error) return target.string();
  }
  return "unknown";
}

}  // namespace

std::string ExecutablePath() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

bool CpuHasAvx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

std::string OpenBlasCoreType() {
  if (CpuHasAvx512()) return "SkylakeX";
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    // Zen is the same kernels with another block size; AMD CPUs are recognised.
    return __builtin_cpu_is("intel") ? "Haswell" : "";
  }
#endif
  return "";
}

Json HostFacts() {
  utsname system{};
  uname(&system);
  const std::string flags = " " + ProcField("/proc/cpuinfo", "flags") + " ";
  Json::Array features;
  for (const char* name : {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"}) {
    if (flags.find(fmt::format(" {} ", name)) != std::string::npos)
      features.push_back(name);
  }
  Json json;
  json.Set("cpu_model", ProcField("/proc/cpuinfo", "model name"));
  json.Set("cpu_features", std::move(features));
  json.Set("usable_cores", UsableCores());
  json.Set("memory_total", ProcField("/proc/meminfo", "MemTotal"));
  json.Set("kernel", system.release);
  json.Set("machine", system.machine);
  json.Set("c_library", std::string("glibc ") + gnu_get_libc_version());
  json.Set("blas", BlasLibrary());
  return json;
}

}  // namespace stepslack::base
