#include "step_cache.h"

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::eda {

std::string StepCache::Key(std::string_view step) const {
  return base::Sha256Of(common_ + '\n' + std::string(step));
}

std::optional<base::Json> StepCache::Find(const std::string& key) const {
  const std::string file = Path(key);
  if (!base::PathExists(file)) return std::nullopt;
  const auto text = base::ReadFile(file);
  if (!text) return std::nullopt;
  auto json = base::ParseJson(*text, file);
  if (!json || !(*json)["outcome"].is_object()) return std::nullopt;
  return std::move(*json);
}

base::Status StepCache::Keep(const std::string& key, const base::Json& value) const {
  return base::WriteFileAtomic(Path(key), value.Dump(-1) + "\n");
}

std::string StepCache::Path(const std::string& key) const {
  return base::JoinPath(folder_, key + ".json");
}

}  // namespace stepslack::eda
