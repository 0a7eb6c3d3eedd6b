#include "stepslack/record/mapped_array.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "file_map.h"
#include "npy_view.h"
#include "stepslack/base/file.h"

namespace stepslack::record {

base::Result<std::shared_ptr<const FileMap>> FileMap::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts {};
  void* memory = MAP_FAILED;
  int reason = errno;
  if (file >= 0) {
    const bool regular = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    reason = regular ? 0 : EINVAL;
    // An empty file can not be mapped; it is no array either, which its reader says.
    const size_t size = regular ? static_cast<size_t>(facts.st_size) : 0;
    if (size > 0) memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (size > 0 && memory == MAP_FAILED) reason = errno;
    ::close(file);
  }
  if (reason != 0) {
    return base::Fail("REC-0007", base::ExitCode::kInput,
                      std::string("cannot open: ") + std::strerror(reason), path,
                      "give a regular file that can be read");
  }
  const bool empty = memory == MAP_FAILED;
  return std::shared_ptr<const FileMap>(
      new FileMap(empty ? nullptr : static_cast<const char*>(memory),
                  empty ? 0 : static_cast<size_t>(facts.st_size)));
}

FileMap::~FileMap() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

MappedArray::MappedArray(const NpyView& view, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)),
      dtype_(view.dtype),
      element_size_(view.element_size),
      shape_(view.shape),
      count_(view.count),
      data_(view.data.data()) {}

bool MappedArray::is_integer() const { return dtype_[1] != 'f'; }

std::span<const float> MappedArray::Floats(int64_t first, int64_t count,
                                           std::vector<float>& scratch) const {
  SS_CHECK(first >= 0 && count >= 0 && first <= count_ - count);
  const char* from = data_ + static_cast<size_t>(first) * element_size_;
  const auto size = static_cast<size_t>(count);
  const bool aligned = reinterpret_cast<uintptr_t>(from) % alignof(float) == 0;
  // cppcheck-suppress invalidPointerCast ; the file holds float32 there, aligned
  if (dtype_ == "<f4" && aligned) return {reinterpret_cast<const float*>(from), size};
  scratch.resize(size);
  ConvertToFloats(dtype_, from, scratch);
  return scratch;
}

void MappedArray::Doubles(int64_t first, std::span<double> out) const {
  const auto count = static_cast<int64_t>(out.size());
  SS_CHECK(first >= 0 && first <= count_ - count);
  ConvertToDoubles(dtype_, data_ + static_cast<size_t>(first) * element_size_, out);
}

void MappedArray::Integers(int64_t first, std::span<int64_t> out) const {
  const auto count = static_cast<int64_t>(out.size());
  SS_CHECK(is_integer() && first >= 0 && first <= count_ - count);
  ConvertToIntegers(dtype_, data_ + static_cast<size_t>(first) * element_size_, out);
}

base::Result<std::vector<std::string>> ListShards(const std::string& path,
                                                  std::string_view extension) {
  if (!base::IsFolder(path)) return std::vector<std::string>{path};
  SS_TRY(const std::vector<std::string> names, base::ListFolder(path));
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (name.front() != '.' && name.ends_with(extension)) {
      files.push_back(base::JoinPath(path, name));
    }
  }
  if (!files.empty()) return files;
  return base::Fail("REC-0300", base::ExitCode::kInput,
                    "the folder holds no " + std::string(extension) + " file", path,
                    "name a file, or a folder of shards");
}

base::Result<MappedArray> MapNpy(const std::string& path) {
  SS_TRY(const std::shared_ptr<const FileMap> file, FileMap::Open(path));
  SS_TRY(const NpyView view, ViewNpy(file->bytes(), path));
  return MappedArray(view, file);
}

}  // namespace stepslack::record
