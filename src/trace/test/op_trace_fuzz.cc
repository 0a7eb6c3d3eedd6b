// Any bytes either are refused or give sorted columns of one length, without
// repetition.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "stepslack/base/result.h"
#include "stepslack/trace/op_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace trace = stepslack::trace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A job may stand before the table, divided by a line "===".
  const size_t cut = text.find("===\n");
  const bool has_job = cut != std::string_view::npos;
  const auto ops = trace::ParseOpTrace(has_job ? text.substr(cut + 4) : text,
                                       has_job ? text.substr(0, cut) : "", "fuzz");
  if (!ops.has_value()) return 0;
  const trace::OpJob& job = ops->job;
  SS_CHECK(job.dp_size >= 1 && job.pp_size >= 1 && job.tp_size >= 1);
  SS_CHECK(job.dsp_size >= 1 && job.vpp_size >= 1 && job.world_size >= 1);
  const auto key = [&ops](size_t i) {
    return std::make_tuple(ops->step[i], ops->dp_rank[i], ops->stage[i], ops->rank[i],
                           ops->type[i], ops->seq[i]);
  };
  SS_CHECK(ops->size() > 0 && ops->micro_batch.size() == ops->size());
  for (size_t i = 0; i < ops->size(); ++i) {
    SS_CHECK(i == 0 || key(i - 1) < key(i));
    SS_CHECK(ops->duration_ns[i] >= 0 && ops->seq[i] >= 0 && ops->rank[i] >= 0);
    SS_CHECK(ops->dp_rank[i] >= 0 && ops->dp_rank[i] < job.dp_size);
    SS_CHECK(ops->stage[i] >= 0 && ops->stage[i] < job.pp_size);
    SS_CHECK(ops->chunk[i] >= -1 && ops->global_chunk[i] >= -1);
  }
  return 0;
}
