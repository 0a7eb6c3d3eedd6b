#include "stage_runner.h"

#include <fmt/format.h>

#include "stepslack/base/digest.h"
#include "stepslack/base/process.h"

namespace stepslack::review {

const std::string& ProgramDigest() {
  // An executable that can not read itself gets a digest that never matches a cache
  // entry of a readable one; results stay right, only the cache is lost.
  static const std::string digest =
      base::Sha256OfFile(base::ExecutablePath()).value_or("unreadable");
  return digest;
}

void StageRunner::Begin(std::string_view name) {
  context_.progress->Stage(++stage_index_, stage_count_, name);
}

void StageRunner::End(std::string_view summary) {
  context_.progress->EndStage(summary);
}

base::Status StageRunner::CheckStop() const {
  if (!context_.StopRequested()) return {};
  return base::Fail("REV-0002", base::ExitCode::kInterrupted, "interrupted", "review",
                    "run the same command again: finished work is kept");
}

base::Result<store::StageOutput> StageRunner::Cached(
    std::string_view name, const base::Json& inputs,
    const std::function<base::Result<store::StageOutput>()>& compute) {
  SS_RETURN_IF_ERROR(CheckStop());
  base::Json identity;
  identity.Set("stage", name);
  identity.Set("inputs", inputs);
  identity.Set("program", ProgramDigest());
  const std::string key = base::Sha256Of(identity.Dump(-1));
  SS_TRY(auto found, room_.FindStage(name, key));
  if (found) return std::move(*found);
  const int64_t start_ns = base::NowNs();
  SS_TRY(store::StageOutput output, compute());
  const double seconds = static_cast<double>(base::NowNs() - start_ns) * 1e-9;
  SS_RETURN_IF_ERROR(room_.SaveStage(name, key, output, seconds));
  return output;
}

}  // namespace stepslack::review
