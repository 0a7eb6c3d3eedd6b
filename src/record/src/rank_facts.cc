#include "stepslack/record/rank_facts.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/base/text.h"

namespace stepslack::record {
namespace {

using base::Json;

constexpr std::array<std::string_view, 11> kLibraries = {
    "libtorch", "libc10",  "libopenblas", "libblas", "liblapack", "libgloo",
    "libmpi",   "libnccl", "libdnnl",     "libmkl_", "libc.so"};
constexpr std::array<const char*, 9> kSettings = {
    "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
    "GLIBC_TUNABLES",    "MALLOC_ARENA_MAX",     "ATEN_CPU_CAPABILITY",
    "DNNL_MAX_CPU_ISA",  "LD_PRELOAD",           "OMP_PROC_BIND"};

std::string FirstLine(const std::string& path) {
  const auto text = base::ReadFile(path);
  if (!text) return {};
  return std::string(base::Trim(base::Split(*text, '\n').front()));
}

std::string StatusField(std::string_view text, std::string_view key) {
  for (const std::string_view line : base::Split(text, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size()) continue;
    if (line[key.size()] != ':') continue;
    return std::string(base::Trim(line.substr(key.size() + 1)));
  }
  return {};
}

Json Number(const std::string& text, double scale) {
  const auto value = base::ParseDouble(text);
  return value ? Json(*value * scale) : Json();
}

Json ClockFacts(std::string_view allowed) {
  const auto cores = base::Split(allowed, ',');
  const std::string core(base::Split(cores.front(), '-').front());
  const std::string folder = "/sys/devices/system/cpu/cpu" + core + "/cpufreq/";
  Json json;
  json.Set("current", Number(FirstLine(folder + "scaling_cur_freq"), 1e-3));
  json.Set("least", Number(FirstLine(folder + "cpuinfo_min_freq"), 1e-3));
  json.Set("most", Number(FirstLine(folder + "cpuinfo_max_freq"), 1e-3));
  return json;
}

// The folder of this process in a hierarchy: version 2 has no controller name.
std::string CgroupFolder(std::string_view cgroups, std::string_view controller) {
  for (const std::string_view line : base::Split(cgroups, '\n')) {
    const auto parts = base::Split(line, ':');
    if (parts.size() < 3 || parts[1] != controller) continue;
    const std::string root = "/sys/fs/cgroup/" + std::string(controller);
    const std::string own = root + std::string(parts[2]);
    // Inside a container the path may name a folder that only its host has.
    return base::IsFolder(own) ? own : root;
  }
  return {};
}

Json CpuQuota(const std::string& v2, const std::string& v1) {
  const std::string line = FirstLine(v2 + "/cpu.max");  // "max 100000", "50000 100000"
  const auto words = base::Split(line, ' ');
  std::optional<double> quota, period;
  if (words.size() == 2) {
    quota = base::ParseDouble(words[0]);
    period = base::ParseDouble(words[1]);
  } else {
    quota = base::ParseDouble(FirstLine(v1 + "/cpu.cfs_quota_us"));
    period = base::ParseDouble(FirstLine(v1 + "/cpu.cfs_period_us"));
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return {};
  return *quota / *period;
}

Json MemoryLimit(const std::string& v2, const std::string& v1) {
  constexpr int64_t kNoLimit = int64_t{1} << 60;  // how version 1 spells "none"
  auto limit = base::ParseInt(FirstLine(v2 + "/memory.max"));
  if (!limit) limit = base::ParseInt(FirstLine(v1 + "/memory.limit_in_bytes"));
  return limit && *limit < kNoLimit ? Json(*limit) : Json();
}

Json CgroupFacts() {
  const std::string groups = base::ReadFile("/proc/self/cgroup").value_or("");
  const std::string v2 = CgroupFolder(groups, "");
  Json json;
  json.Set("cpu_quota_cores", CpuQuota(v2, CgroupFolder(groups, "cpu")));
  json.Set("memory_limit_bytes", MemoryLimit(v2, CgroupFolder(groups, "memory")));
  return json;
}

// Asked of the library that is in this process, if it is OpenBLAS.
Json BlasFacts() {
  using Ask = const char* (*)();
  const auto ask = [](const char* name) -> Json {
    const auto function = reinterpret_cast<Ask>(::dlsym(RTLD_DEFAULT, name));
    const char* text = function != nullptr ? function() : nullptr;
    return text != nullptr ? Json(text) : Json();
  };
  Json json;
  json.Set("core_type", ask("openblas_get_corename"));
  json.Set("config", ask("openblas_get_config"));
  return json;
}

Json Environment() {
  Json json{Json::Object{}};
  for (const char* name : kSettings) {
    if (const char* value = std::getenv(name)) json.Set(name, value);
  }
  return json;
}

Json Libraries() {
  Json list{Json::Array{}};
  const std::string maps = base::ReadFile("/proc/self/maps").value_or("");
  for (const std::string& path : LoadedLibraries(maps, kLibraries)) {
    const auto digest = base::Sha256OfFile(path);
    Json row;
    row.Set("name", base::FileName(path));
    row.Set("path", path);
    row.Set("sha256", digest ? Json(*digest) : Json());
    list.Append(std::move(row));
  }
  return list;
}

// The same libraries in another folder are the same runtime.
std::string RuntimeTag(const Json& facts) {
  std::string text;
  for (const Json& row : facts["libraries"].AsArray()) {
    text += row["name"].AsString() + " " + row["sha256"].AsString() + "\n";
  }
  return base::Sha256Of(text + facts["environment"].Dump(-1) + facts["blas"].Dump(-1));
}

// What differs between the ranks of one host (affinity) is no part of it.
std::string HardwareTag(const Json& facts) {
  Json identity;
  for (const char* key : {"cpu_model", "cpu_features", "memory_total", "machine"}) {
    identity.Set(key, facts["host"][key]);
  }
  identity.Set("cores_online", FirstLine("/sys/devices/system/cpu/online"));
  identity.Set("numa_nodes", facts["numa_nodes"]);
  return base::Sha256Of(identity.Dump(-1));
}

}  // namespace

std::vector<std::string> LoadedLibraries(std::string_view maps,
                                         std::span<const std::string_view> stems) {
  // proc(5): address perms offset dev inode pathname; a path may hold blanks.
  std::set<std::string> paths;
  for (const std::string_view line : base::Split(maps, '\n')) {
    const size_t slash = line.find('/');
    const size_t space = line.find(' ');
    if (slash == std::string_view::npos || space + 4 >= line.size()) continue;
    if (line[space + 3] != 'x') continue;
    const std::string_view path = line.substr(slash);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const bool wanted = std::any_of(stems.begin(), stems.end(),
                                    [&](auto stem) { return name.starts_with(stem); });
    if (wanted) paths.emplace(path);
  }
  return {paths.begin(), paths.end()};
}

int CountCpuList(std::string_view list) {
  constexpr int64_t kMost = 1 << 20;
  int64_t count = 0;
  for (const std::string_view part : base::Split(base::Trim(list), ',')) {
    const auto ends = base::Split(part, '-');
    const auto first = base::ParseInt(ends.front());
    const auto last = base::ParseInt(ends.back());
    if (!first || !last || *first < 0 || *last < *first || *last > kMost) continue;
    count += *last - *first + 1;
  }
  return static_cast<int>(std::min(count, kMost));
}

Json RankFacts() {
  const std::string status = base::ReadFile("/proc/self/status").value_or("");
  const std::string allowed = StatusField(status, "Cpus_allowed_list");
  Json json;
  json.Set("schema", "stepslack.host/1");
  json.Set("host", base::HostFacts());
  json.Set("cores_allowed", allowed);
  json.Set("cores", CountCpuList(allowed));
  json.Set("threads", base::ParseInt(StatusField(status, "Threads")).value_or(0));
  json.Set("numa_nodes", CountCpuList(FirstLine("/sys/devices/system/node/online")));
  json.Set("numa_nodes_allowed", StatusField(status, "Mems_allowed_list"));
  json.Set("clock_mhz", ClockFacts(allowed));
  json.Set("cgroup", CgroupFacts());
  json.Set("blas", BlasFacts());
  json.Set("environment", Environment());
  json.Set("libraries", Libraries());
  json.Set("runtime_tag", RuntimeTag(json));
  json.Set("hardware_tag", HardwareTag(json));
  return json;
}

}  // namespace stepslack::record
