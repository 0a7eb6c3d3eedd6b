// Settings and facts of the tensor library in this process.
#pragma once

#include <map>
#include <string>

namespace stepslack::model {

// One computing thread; denormal numbers count as zero (they cost 100 times as much).
void ConfigureRuntime();

// "libtorch" version, "cpu_capability", "threads", "onednn".
std::map<std::string, std::string> RuntimeFacts();

}  // namespace stepslack::model
