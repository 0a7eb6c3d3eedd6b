// Where tools exchange files.
#pragma once

#include <string>
#include <string_view>

#include "stepslack/base/result.h"

namespace stepslack::eda {

// Files of one run; they are gone when it is over, however it ends, and so is what a
// killed run of the same name left.
class ScratchFolder {
 public:
  static base::Result<ScratchFolder> Make(const std::string& path);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const;

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A name without blanks, which the tools' scripts could not quote; one of each output
// folder, so that a resumed run clears what a killed one left.
std::string ScratchPath(std::string_view purpose, const std::string& out);

}  // namespace stepslack::eda
