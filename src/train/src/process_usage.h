// What the kernel has counted for this process.
#pragma once

namespace stepslack::train {

double ProcessCpuSeconds();  // user and system, all threads
double SecondsSinceProcessStart();

}  // namespace stepslack::train
