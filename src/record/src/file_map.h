// A whole file as read-only memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"

namespace stepslack::record {

class FileMap {
 public:
  // REC-0007: can not be opened or mapped.
  static base::Result<std::shared_ptr<const FileMap>> Open(const std::string& path);
  ~FileMap();
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  FileMap(const char* data, size_t size) : data_(data), size_(size) {}
  const char* data_;
  size_t size_;
};

}  // namespace stepslack::record
