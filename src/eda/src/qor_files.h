// The files of the synthesis data set.
#pragma once

#include <string>
#include <vector>

#include "qor_flow.h"
#include "stepslack/eda/qor_dataset.h"

namespace stepslack::eda {

struct QorRow {
  const VerilogDesign* design = nullptr;
  const QorRecipe* recipe = nullptr;
  std::map<std::string, int64_t> words;
  QorSample sample;
  double synthesis_ms = 0;  // of the design, shared by its recipes
};

std::string QorCsv(const std::vector<QorRow>& rows);
std::string CostsCsv(const std::vector<QorRow>& rows);
std::string QorSchema();  // dataset.toml
std::string QorLineage(const QorOptions& options, const QorSurroundings& around,
                       const std::string& liberty_digest, const std::string& csv,
                       const QorReport& report);

}  // namespace stepslack::eda
