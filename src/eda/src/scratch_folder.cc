#include "scratch_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::eda {

base::Result<ScratchFolder> ScratchFolder::Make(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  SS_RETURN_IF_ERROR(base::MakeFolders(path));
  return ScratchFolder(path);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::File(std::string_view name) const {
  return base::JoinPath(path_, name);
}

std::string ScratchPath(std::string_view purpose, const std::string& out) {
  std::error_code ignored;
  const auto whole = std::filesystem::weakly_canonical(out, ignored);
  return base::JoinPath(std::filesystem::temp_directory_path(ignored).string(),
                        fmt::format("stepslack-{}-{}", purpose,
                                    base::Sha256Of(whole.string()).substr(0, 16)));
}

}  // namespace stepslack::eda
