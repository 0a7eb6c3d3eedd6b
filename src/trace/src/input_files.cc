#include "stepslack/trace/input_files.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <system_error>

#include "peeked_source.h"
#include "stepslack/base/file.h"
#include "tar_members.h"

namespace stepslack::trace {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestRank = 100'000'000;

bool IsHidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return !name.empty() && name[0] == '.';
}

void AddFolder(const std::string& folder, FoundFiles& found) {
  std::error_code error;
  fs::directory_iterator it(folder, error);
  if (error) {
    found.unreadable.push_back(folder);
    return;
  }
  std::vector<std::string> folders;
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (IsHidden(it->path())) continue;
    std::error_code ignored;
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) {
      folders.push_back(it->path().string());
    } else if (it->is_regular_file(ignored)) {
      found.files.push_back(it->path().string());
    }
  }
  if (error) found.unreadable.push_back(folder);
  for (const std::string& below : folders) AddFolder(below, found);
}

std::vector<std::string> Matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

using Visit = std::function<void(const Input& input, ByteSource& source)>;

void VisitOne(ByteSource& source, const std::string& path, const std::string& member,
              const Visit& visit) {
  const std::unique_ptr<ByteSource> inflated = Inflated(source);
  PeekedSource peeked(*inflated, kHeadBytes);
  Input input;
  input.path = path;
  input.name = member.empty() ? path : path + "!" + member;
  input.is_member = !member.empty();
  input.head = peeked.head();
  input.format = DetectFormat(peeked.head());
  visit(input, peeked);
}

}  // namespace

base::Result<FoundFiles> ExpandPaths(std::span<const std::string> paths) {
  FoundFiles found;
  std::vector<std::string>& files = found.files;
  for (const std::string& path : paths) {
    std::vector<std::string> matches = {path};
    if (!base::PathExists(path)) {
      matches = Matches(path);
      if (matches.empty()) {
        return base::Fail(
            "TRACE-0005", base::ExitCode::kInput,
            "there is no such file, folder or pattern", path,
            "check the path; quote a pattern so that the shell leaves it");
      }
    }
    const size_t before = files.size();
    for (const std::string& match : matches) {
      if (base::IsFolder(match)) {
        AddFolder(match, found);
      } else {
        files.push_back(match);
      }
    }
    if (files.size() == before && found.unreadable.empty()) {
      return base::Fail("TRACE-0006", base::ExitCode::kInput,
                        "the folder holds no file that can be read", path,
                        "give the folder that the profiler wrote its traces to");
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::sort(found.unreadable.begin(), found.unreadable.end());
  return found;
}

base::Result<bool> VisitInputs(const std::string& path, const Visit& visit) {
  SS_TRY(const std::unique_ptr<ByteSource> file, OpenFile(path));
  PeekedSource peeked(*file, kHeadBytes);
  if (!LooksLikeTar(peeked.head())) {
    VisitOne(peeked, path, "", visit);
    return true;
  }
  return VisitTarMembers(peeked, [&](const std::string& member, ByteSource& source) {
    VisitOne(source, path, member, visit);
  });
}

base::Result<std::string> ReadAll(ByteSource& source, const std::string& name,
                                  int64_t max_bytes) {
  std::string text;
  std::vector<char> chunk(size_t{1} << 16);
  while (const size_t got = source.Read(chunk.data(), chunk.size())) {
    text.append(chunk.data(), got);
    if (static_cast<int64_t>(text.size()) > max_bytes) {
      return base::Fail("TRACE-0002", base::ExitCode::kInput,
                        fmt::format("more than {} bytes of a format that is read as "
                                    "one piece",
                                    max_bytes),
                        name, "cut the file, or export less");
    }
  }
  return text;
}

int32_t RankOfFileName(std::string_view name) {
  std::string base = base::FileName(name);
  std::transform(base.begin(), base.end(), base.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word : {"rank", "worker", "dump", "r"}) {
    for (size_t at = base.find(word); at != std::string::npos;
         at = base.find(word, at + 1)) {
      const bool begins =
          at == 0 || !std::isalnum(static_cast<unsigned char>(base[at - 1]));
      size_t digit = at + word.size();
      if (word.size() > 1 && digit < base.size() &&
          (base[digit] == '-' || base[digit] == '_' || base[digit] == '.')) {
        ++digit;
      }
      int64_t value = 0;
      size_t end = digit;
      while (end < base.size() && base[end] >= '0' && base[end] <= '9' &&
             value < kLargestRank) {
        value = value * 10 + (base[end++] - '0');
      }
      if (begins && end > digit && value < kLargestRank) {
        return static_cast<int32_t>(value);
      }
    }
  }
  return -1;
}

}  // namespace stepslack::trace
