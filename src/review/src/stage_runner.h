// Runs the named stages of a review in order: shows progress, finds a finished stage
// again by the digest of everything it was given, and records new ones in the room.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "stepslack/base/context.h"
#include "stepslack/store/room.h"

namespace stepslack::review {

class StageRunner {
 public:
  StageRunner(store::Room& room, const base::Context& context, int stage_count)
      : room_(room), context_(context), stage_count_(stage_count) {}

  // Announces a stage that keeps nothing but what its training runs keep.
  void Begin(std::string_view name);
  void End(std::string_view summary);

  // A cached stage. `inputs` must hold everything the result depends on; the program's
  // own digest is added. `compute` runs only when no finished stage with this key is
  // there.
  base::Result<store::StageOutput> Cached(
      std::string_view name, const base::Json& inputs,
      const std::function<base::Result<store::StageOutput>()>& compute);

  // REV-0002, exit 130, when the user asked to stop.
  base::Status CheckStop() const;

  store::Room& room() { return room_; }
  const base::Context& context() const { return context_; }

 private:
  store::Room& room_;
  const base::Context& context_;
  int stage_count_;
  int stage_index_ = 0;
};

// Digest of the running program: results of another build are computed again.
const std::string& ProgramDigest();

}  // namespace stepslack::review
