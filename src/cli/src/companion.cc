#include "companion.h"

#include <cstdlib>

#include "stepslack/base/file.h"
#include "stepslack/base/process.h"

namespace stepslack::cli {

std::string Companion(const char* variable, std::string_view name) {
  if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') {
    return given;
  }
  return base::JoinPath(base::ParentFolder(base::ExecutablePath()), name);
}

}  // namespace stepslack::cli
