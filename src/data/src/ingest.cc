#include "stepslack/data/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ingest_layout.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

constexpr int kMaxDepth = 4;
constexpr std::string_view kLayoutHelp =
    "give a folder of ICCAD-2023 maps, a pair inputs [n,c,h,w] and targets [n,h,w] as "
    ".npy "
    "or .npz, or one .npz per map with x [c,h,w] and y [h,w]";

void ListInto(const std::string& folder, const std::string& prefix, int depth,
              FolderListing& out) {
  const auto names = base::ListFolder(folder);
  if (!names.has_value()) {
    out.skipped.push_back({prefix, names.error().what});
    return;
  }
  for (const std::string& name : *names) {
    const std::string path = base::JoinPath(folder, name);
    const std::string relative = prefix.empty() ? name : prefix + "/" + name;
    if (!base::IsFolder(path)) {
      out.files.push_back(relative);
    } else if (depth >= kMaxDepth) {
      out.skipped.push_back({relative, "folder lies more than four levels deep"});
    } else {
      ListInto(path, relative, depth + 1, out);
    }
  }
}

// The last part of the absolute path, so that "maps", "./maps/" and "." agree.
std::string NameOf(const std::string& path) {
  std::error_code error;
  std::filesystem::path full = std::filesystem::weakly_canonical(path, error);
  if (error) full = path;
  const std::string name = full.filename().string();
  return name.empty() ? "folder" : name;
}

bool AnyEndsWith(const FolderListing& listing, std::string_view end) {
  return std::any_of(listing.files.begin(), listing.files.end(),
                     [&](const std::string& file) { return EndsWith(file, end); });
}

base::Result<IngestResult> IngestByLayout(const FolderListing& listing,
                                          const IngestOptions& options) {
  if (LooksLikeIccad(listing)) return IngestIccad(listing, options);
  if (AnyEndsWith(listing, ".npy")) return IngestArrays(listing);
  if (AnyEndsWith(listing, ".npz")) {
    return LooksLikeSamples(listing) ? IngestSamples(listing, options)
                                     : IngestArrays(listing);
  }
  return Fail("DATA-0002", ExitCode::kInput,
              fmt::format("none of the {} files is a map in a layout that is known",
                          listing.files.size()),
              listing.root, std::string(kLayoutHelp));
}

}  // namespace

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

base::Result<FolderListing> ListInputs(const std::string& path) {
  FolderListing listing;
  listing.root = path;
  listing.name = NameOf(path);
  if (base::IsFolder(path)) {
    ListInto(path, "", 0, listing);
  } else if (base::PathExists(path) && EndsWith(path, ".npz")) {
    listing.root = base::ParentFolder(path);
    listing.files.push_back(base::FileName(path));
  } else {
    return Fail("DATA-0001", ExitCode::kInput,
                "this is neither a folder nor a .npz file", path,
                std::string(kLayoutHelp));
  }
  std::sort(listing.files.begin(), listing.files.end());
  return listing;
}

base::Result<std::string> ReadInput(const FolderListing& listing,
                                    const std::string& file, FileRecord& record) {
  SS_TRY(std::string bytes, base::ReadFile(base::JoinPath(listing.root, file)));
  record.file = file;
  record.bytes = static_cast<int64_t>(bytes.size());
  record.sha256 = base::Sha256Of(bytes);
  if (std::string_view(bytes).substr(0, 2) != "\x1f\x8b") return bytes;
  return base::Gunzip(bytes, file);
}

base::Result<IngestResult> IngestFolder(const std::string& path,
                                        const IngestOptions& options) {
  SS_TRY(FolderListing listing, ListInputs(path));
  SS_TRY(IngestResult result, IngestByLayout(listing, options));
  auto& maps = result.collection.maps;
  if (maps.empty()) {
    const auto& problems = result.problems;
    return Fail(
        "DATA-0004", ExitCode::kInput,
        fmt::format("no map could be read; {} problems{}", problems.size(),
                    problems.empty()
                        ? std::string()
                        : fmt::format(", the first is {}: {}: {}", problems[0].id,
                                      problems[0].where, problems[0].what)),
        path, problems.empty() ? std::string(kLayoutHelp) : problems[0].help);
  }
  std::sort(maps.begin(), maps.end(),
            [](const WholeMap& a, const WholeMap& b) { return a.id < b.id; });
  std::sort(result.files.begin(), result.files.end(),
            [](const FileRecord& a, const FileRecord& b) { return a.file < b.file; });
  result.skipped.insert(result.skipped.end(), listing.skipped.begin(),
                        listing.skipped.end());
  if (options.check_units) result.suspicions = FindUnitSuspicions(result.collection);
  return result;
}

}  // namespace stepslack::data
