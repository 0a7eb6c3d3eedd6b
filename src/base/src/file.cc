#include "stepslack/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stepslack::base {
namespace {

std::string Reason() { return std::strerror(errno); }

tl::unexpected<Error> CannotWrite(const std::string& path, const std::string& reason) {
  return Fail("BASE-0002", ExitCode::kEnvironment, "cannot write: " + reason, path,
              "check free space and permissions of the folder");
}

// Writes everything; false with the reason when the descriptor takes no more.
bool WriteAll(int descriptor, std::string_view content, std::string& reason) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t size =
        ::write(descriptor, content.data() + done, content.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      reason = Reason();
      return false;
    }
    done += static_cast<size_t>(size);
  }
  return true;
}

// Makes the rename itself durable. A file system that cannot sync a folder is not an
// error.
void SyncFolder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return Fail("BASE-0001", ExitCode::kInput, "cannot open: " + Reason(), path,
                "check the path and its permissions");
  }
  struct stat facts {};
  std::string content;
  const bool known = ::fstat(descriptor, &facts) == 0;
  if (known && S_ISFIFO(facts.st_mode)) {
    ::close(descriptor);
    return Fail("BASE-0011", ExitCode::kInput, "a pipe is not a data file", path,
                "give a regular file");
  }
  if (known && S_ISREG(facts.st_mode)) {
    content.reserve(static_cast<size_t>(facts.st_size));
  }
  char buffer[1 << 16];
  while (true) {
    const ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      const std::string reason = Reason();
      ::close(descriptor);
      return Fail("BASE-0008", ExitCode::kInput, "cannot read: " + reason, path,
                  "give a regular file; check the disk");
    }
    if (size == 0) break;
    content.append(buffer, static_cast<size_t>(size));
  }
  ::close(descriptor);
  return content;
}

Result<std::string> ReadMaybeGzip(const std::string& path) {
  SS_TRY(std::string bytes, ReadFile(path));
  if (bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b') {
    return Gunzip(bytes, path);
  }
  return bytes;
}

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  const std::string folder = ParentFolder(path);
  SS_RETURN_IF_ERROR(MakeFolders(folder));
  std::string temporary = JoinPath(folder, ".tmp.XXXXXX");
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return CannotWrite(path, Reason());
  ::fchmod(descriptor, 0644);
  return AtomicFile(path, std::move(temporary), descriptor);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::Append(std::string_view piece) {
  std::string reason;
  if (!WriteAll(descriptor_, piece, reason)) return CannotWrite(path_, reason);
  return {};
}

Status AtomicFile::Commit() {
  if (::fsync(descriptor_) != 0) return CannotWrite(path_, Reason());
  if (::close(std::exchange(descriptor_, -1)) != 0) return CannotWrite(path_, Reason());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return CannotWrite(path_, Reason());
  }
  temporary_.clear();
  SyncFolder(ParentFolder(path_));
  return {};
}

Status WriteFileAtomic(const std::string& path, std::string_view content) {
  SS_TRY(AtomicFile file, AtomicFile::Create(path));
  SS_RETURN_IF_ERROR(file.Append(content));
  return file.Commit();
}

Status WriteResult(const std::string& path, std::string_view content) {
  struct stat facts {};
  const bool there = ::stat(path.c_str(), &facts) == 0;
  if (there && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return CannotWrite(path, Reason());
    std::string reason;
    const bool written = WriteAll(descriptor, content, reason);
    ::close(descriptor);
    if (!written) return CannotWrite(path, reason);
    return {};
  }
  std::error_code error;
  const auto resolved = std::filesystem::canonical(path, error);
  return WriteFileAtomic(error ? path : resolved.string(), content);
}

Status MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return CannotWrite(path, error.message());
  return {};
}

Result<std::vector<std::string>> ListFolder(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entries(path, error);
  while (!error && entries != std::filesystem::directory_iterator()) {
    names.push_back(entries->path().filename().string());
    entries.increment(error);
  }
  if (error) {
    return Fail("BASE-0009", ExitCode::kInput, "cannot list folder: " + error.message(),
                path, "check the path and its permissions");
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool PathExists(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0;
}

bool IsFolder(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  if (folder.back() == '/') return std::string(folder) + std::string(name);
  return std::string(folder) + "/" + std::string(name);
}

std::string FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string ParentFolder(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

Result<uint64_t> FreeBytes(const std::string& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) {
    return Fail("BASE-0010", ExitCode::kEnvironment,
                "cannot read the free space: " + Reason(), path,
                "check that the folder exists");
  }
  return static_cast<uint64_t>(facts.f_bavail) * facts.f_frsize;
}

}  // namespace stepslack::base
