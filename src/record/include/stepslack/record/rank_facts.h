// Where and with what a rank computes, as the process itself sees it: the host, what
// the process may use of it, and the libraries that are in its memory.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::record {

// Absolute paths of the files that `maps` (text of /proc/PID/maps) shows as executable
// and whose names begin with one of `stems`, each once, sorted.
std::vector<std::string> LoadedLibraries(std::string_view maps,
                                         std::span<const std::string_view> stems);

// CPUs of a list in the kernel's form "0-3,8": 5. Damaged text counts what was good.
int CountCpuList(std::string_view list);

// Schema "stepslack.host/1":
//   host            base::HostFacts
//   cores_allowed   list of cores in the kernel's form, and cores: how many
//   threads         of this process when asked
//   numa_nodes, numa_nodes_allowed
//   clock_mhz       {current, least, most} of the first allowed core; null: not told
//   cgroup          {cpu_quota_cores, memory_limit_bytes}; null: no limit, or not told
//   blas            {core_type, config}: OpenBLAS's own words; null: another library
//   environment     the settings that change speed or results, where they are set
//   libraries       [{name, path, sha256}] of those loaded in this process
//   runtime_tag     SHA-256 over names and digests of the libraries and the settings
//   hardware_tag    SHA-256 over CPU model, cores, memory and NUMA nodes
// Takes a fraction of a second: the library files are read.
base::Json RankFacts();

}  // namespace stepslack::record
