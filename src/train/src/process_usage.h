// What the kernel has counted for this process.
#pragma once

#include <cstdint>

namespace stepslack::train {

double ProcessCpuSeconds();  // user and system, all threads
int64_t MinorFaults();       // page faults without input or output
double SecondsSinceProcessStart();

}  // namespace stepslack::train
