// CPU time that the hypervisor gave to somebody else, from /proc/stat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepslack/base/estimate.h"

namespace stepslack::review {

// Clock ticks since boot over all cores; all zero when they can not be read.
struct CpuTimes {
  int64_t total = 0;
  int64_t steal = 0;
};

CpuTimes ParseCpuTimes(std::string_view proc_stat);
CpuTimes ReadCpuTimes();

// Absent when less than ten seconds of CPU time passed (ticks of 10 ms): runs that come
// from the cache say nothing about the machine now.
std::optional<base::Estimate> StealShare(const CpuTimes& before, const CpuTimes& after);

}  // namespace stepslack::review
