// The files of the congestion data set.
#pragma once

#include <string>
#include <vector>

#include "pnr_flow.h"
#include "stepslack/eda/pnr_dataset.h"

namespace stepslack::eda {

struct PnrRow {
  const VerilogDesign* design = nullptr;
  int64_t placement = 0;  // which placement of the design, from 0
  PnrSample sample;
};

// "mult_w5-p0": names the files of a sample.
std::string PnrSampleName(const PnrRow& row);
// First columns of all tables: family, design, placement.
std::string PnrRowKey(const VerilogDesign& design, int64_t placement);

std::string StagesCsv(const std::vector<PnrRow>& rows);
// `table`: a sample's text with a header; the headers are reduced to one.
std::string JoinTables(const std::vector<PnrRow>& rows, std::string PnrSample::*table,
                       std::string_view empty_header);
std::string PnrSchema();  // dataset.toml
std::string PnrLineage(const PnrOptions& options, const PnrSurroundings& around,
                       const std::string& tiles_csv, const std::string& nets_csv,
                       const PnrReport& report);

}  // namespace stepslack::eda
