// Finished steps by digest.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::eda {

// A file that does not read back is as good as none.
class StepCache {
 public:
  // `common`: what every step depends on (tools, library, limits).
  StepCache(std::string folder, std::string common)
      : folder_(std::move(folder)), common_(std::move(common)) {}

  std::string Key(std::string_view step) const;
  std::optional<base::Json> Find(const std::string& key) const;
  base::Status Keep(const std::string& key, const base::Json& value) const;

 private:
  std::string Path(const std::string& key) const;
  std::string folder_;
  std::string common_;
};

}  // namespace stepslack::eda
