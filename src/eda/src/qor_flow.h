// One design through the synthesiser, one recipe through mapper and timer.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "qor_netlist.h"
#include "qor_recipes.h"
#include "stepslack/base/json.h"
#include "stepslack/eda/verilog_designs.h"
#include "tool_runner.h"

namespace stepslack::eda {

// How a sample, or the design that it shares, came out.
struct QorOutcome {
  ToolStatus status = ToolStatus::kOk;
  std::string stage;  // "yosys", "abc", "sta": where it ended; "" when ok
};

struct SynthesisedDesign {
  QorOutcome outcome;
  std::string blif;
  // ys_cells, ys_wires, w_add, w_mul, w_mux, w_cmp, w_shift, w_logic.
  std::map<std::string, int64_t> words;
  double wall_ms = 0;
};

struct QorSample {
  QorOutcome outcome;
  int64_t n_ff = 0;
  int64_t aig_and = 0;
  int64_t aig_levels = 0;
  int64_t aig_inputs = 0;
  int64_t aig_outputs = 0;
  double area_um2 = 0;
  int64_t cells = 0;
  double wc_delay_ns = 0;
  double tns10_ns = 0;
  double wall_ms = 0;  // mapper and timer
};

struct QorSurroundings {
  QorTools tools;
  std::string liberty_path;
  LibertyLibrary library;
  std::string folder;  // for files between the tools; names without blanks
  double timeout_s = 60;
  const std::atomic<bool>* stop = nullptr;
};

base::Result<SynthesisedDesign> Synthesise(const VerilogDesign& design,
                                           const QorSurroundings& around);
base::Result<QorSample> MapAndTime(const SynthesisedDesign& design,
                                   const std::string& name, const QorRecipe& recipe,
                                   const QorSurroundings& around);

base::Json ToJson(const SynthesisedDesign& design);
base::Json ToJson(const QorSample& sample);
SynthesisedDesign DesignFromJson(const base::Json& json);
QorSample SampleFromJson(const base::Json& json);

// Cell counts and operator bits of the synthesiser's `stat -width`.
std::map<std::string, int64_t> ReadWordStatistics(std::string_view text);

// Worst slack and total negative slack at the 10 ns clock, ns; no value when the
// timer's output has an error or lacks either.
struct TimingFigures {
  double worst_slack_ns = 0;
  double tns_ns = 0;
};
std::optional<TimingFigures> ReadTimerOutput(std::string_view text);

}  // namespace stepslack::eda
