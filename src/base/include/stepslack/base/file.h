// Files: whole reads, atomic writes, gzip. Errors: BASE-0001 cannot open, BASE-0002
// cannot write, BASE-0003 gzip data damaged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::base {

Result<std::string> ReadFile(const std::string& path);

// Reads a file and inflates it when its content starts with the gzip magic.
Result<std::string> ReadMaybeGzip(const std::string& path);

// Temporary file in the same folder, fsync, rename: a killed process leaves either the
// old content or the new, never half of it. Parent folders are created.
Status WriteFileAtomic(const std::string& path, std::string_view content);

// The same for content that comes in pieces and need not be in memory as a whole.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // without Commit nothing is left and an older file stays

  Status Append(std::string_view piece);
  // Once, after the last piece: from here on the file has its name and is durable.
  Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int descriptor);
  std::string path_;
  std::string temporary_;  // "": renamed
  int descriptor_;         // -1: closed
};

// For a target that a user names: follows symlinks, and writes into devices and pipes
// instead of replacing them; a regular or new file is replaced atomically.
Status WriteResult(const std::string& path, std::string_view content);

Status MakeFolders(const std::string& path);

// Names in a folder, sorted; no "." and "..".
Result<std::vector<std::string>> ListFolder(const std::string& path);
bool PathExists(const std::string& path);
bool IsFolder(const std::string& path);
std::string JoinPath(std::string_view folder, std::string_view name);
std::string FileName(std::string_view path);      // last component
std::string ParentFolder(std::string_view path);  // "." when there is none

// Bytes free for an unprivileged writer on the file system that holds `path`.
Result<uint64_t> FreeBytes(const std::string& path);

// Deterministic gzip (no name, no time) and its inverse.
std::string Gzip(std::string_view bytes, int level = 6);
Result<std::string> Gunzip(std::string_view bytes, std::string_view name);

}  // namespace stepslack::base
