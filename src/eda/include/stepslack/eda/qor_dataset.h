// The synthesis data set: generated designs x recipes -> area and delay, made by real
// tools (yosys, berkeley-abc, OpenSTA) with an open cell library.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/eda/verilog_designs.h"

namespace stepslack::eda {

struct QorOptions {
  uint64_t seed = 1;
  int64_t count = 64;  // samples: the 14 recipes of one design after another
  std::string technology = "osu035";  // or osu018
  std::string out;                    // folder; absent or empty unless `resume`
  bool resume = false;                // go on with what `out` has of an earlier run
  int threads = 1;
  double timeout_s = 60;  // of one run of one tool
  // Programs (names on PATH or paths), library file and designs: empty for the usual.
  std::string yosys = "yosys";
  std::string abc = "berkeley-abc";
  std::string sta = "sta";
  std::string liberty;
  std::vector<VerilogDesign> designs;
};

struct QorReport {
  int64_t rows = 0;
  int64_t designs = 0;
  int64_t families = 0;
  int64_t from_cache = 0;                   // samples of an earlier run
  std::map<std::string, int64_t> outcomes;  // "ok", "timeout in sta" -> rows
};

// Writes qor.csv (features and labels; equal bytes for equal seed, tools and library,
// with any number of threads), costs.csv (times), dataset.toml (units and roles),
// lineage.json (seed, tool versions, digests), verilog/ and cache/ into `out`. A tool
// that crashes, hangs or says nothing usable makes a row with that status and empty
// labels. Every finished step is kept in cache/ under a digest of the design's text,
// the recipe, the tools and the library; a killed run that is resumed repeats only what
// it was in the midst of. `progress` may be empty.
// Errors: EDA-0106 stopped, EDA-0107 a tool is absent, EDA-0108 the library is absent,
// EDA-0109 an option out of range, EDA-0110 `out` is in use.
base::Result<QorReport> MakeQor(
    const QorOptions& options,
    const std::function<void(int64_t done, int64_t total)>& progress,
    const std::atomic<bool>* stop);

}  // namespace stepslack::eda
