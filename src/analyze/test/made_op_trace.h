// Small op traces worked by hand, as CSV text; times in ms.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace stepslack::analyze {

class MadeOpTrace {
 public:
  explicit MadeOpTrace(int stages) : stages_(stages) {}

  // Chunk 0 everywhere; the rank is dp_rank * stages + stage.
  MadeOpTrace& Op(int step, int dp_rank, int stage, std::string_view type, int start_ms,
                  int duration_ms, int seq = 0) {
    text_ += fmt::format("{},{},{},{},{},{}e-3,{}e-3,{},0,0,{}\n", dp_rank, stage,
                         dp_rank * stages_ + stage, step, type, start_ms, duration_ms,
                         seq, stage);
    return *this;
  }

  // Two data-parallel ranks, one stage; the second is late by `late_ms`. Forward 100,
  // backward 100, a transfer of 10, optimizer 10.
  MadeOpTrace& DataParallelStep(int step, int late_ms) {
    for (const int d : {0, 1}) {
      const int late = d == 1 ? late_ms : 0;
      Op(step, d, 0, "forward-compute", 0, 100 + late);
      Op(step, d, 0, "backward-compute", 100 + late, 100);
      Op(step, d, 0, "grads-reduce-scatter", 200 + late, 10 + late_ms - late);
      Op(step, d, 0, "optimizer", 210 + late_ms, 10);
    }
    return *this;
  }

  // One data-parallel rank, two stages, two micro batches, one forward one backward.
  // Forward takes 10 on the first and 30 on the last stage, backward twice that,
  // transfers nothing.
  MadeOpTrace& PipelineStep(int step) {
    Op(step, 0, 0, "forward-compute", 0, 10, 0);
    Op(step, 0, 0, "forward-send", 10, 0, 0);
    Op(step, 0, 0, "forward-compute", 10, 10, 1);
    Op(step, 0, 0, "forward-send", 20, 20, 1);
    Op(step, 0, 0, "backward-recv", 20, 80, 0);
    Op(step, 0, 0, "backward-compute", 100, 20, 0);
    Op(step, 0, 0, "backward-recv", 120, 70, 1);
    Op(step, 0, 0, "backward-compute", 190, 20, 1);
    Op(step, 0, 1, "forward-recv", 0, 10, 0);
    Op(step, 0, 1, "forward-compute", 10, 30, 0);
    Op(step, 0, 1, "forward-recv", 40, 0, 1);
    Op(step, 0, 1, "backward-compute", 40, 60, 0);
    Op(step, 0, 1, "backward-send", 100, 0, 0);
    Op(step, 0, 1, "forward-compute", 100, 30, 1);
    Op(step, 0, 1, "backward-compute", 130, 60, 1);
    Op(step, 0, 1, "backward-send", 190, 0, 1);
    return *this;
  }

  std::string Csv() const {
    return "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n" +
           text_;
  }

 private:
  int stages_;
  std::string text_;
};

}  // namespace stepslack::analyze
