// Looks for what slows or breaks training on this machine.
#pragma once

#include <string>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::cli {

struct DoctorCheck {
  std::string name;
  std::string state;  // "OK", "WARN", "FAIL"
  std::string found;
  std::string help;  // empty when OK
};

struct DoctorReport {
  std::vector<DoctorCheck> checks;
  base::Json host;
  bool Healthy() const;  // nothing FAILs
};

DoctorReport Examine(const std::string& worker, const std::string& causes);
std::string Describe(const DoctorReport& report, bool color);
base::Json ToJson(const DoctorReport& report);

}  // namespace stepslack::cli
