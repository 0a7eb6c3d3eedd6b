// What the readers of the folder layouts share: the listing of a folder, the record of
// every file read, and one entry point per layout.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/data/ingest.h"

namespace stepslack::data {

struct FolderListing {
  std::string root;                // as it can be opened
  std::string name;                // last part of the absolute path, names the source
  std::vector<std::string> files;  // relative, sorted, "/" between parts
  std::vector<SkippedFile> skipped;
};

// All files down to four folders deep. DATA-0001.
base::Result<FolderListing> ListInputs(const std::string& path);

// The inflated content of a listed file; its stored form goes to `record`.
base::Result<std::string> ReadInput(const FolderListing& listing,
                                    const std::string& file, FileRecord& record);

bool EndsWith(std::string_view text, std::string_view end);

bool LooksLikeIccad(const FolderListing& listing);
base::Result<IngestResult> IngestIccad(const FolderListing& listing,
                                       const IngestOptions& options);

// .npy pair, or one .npz that holds a 4-d and a 3-d array.
base::Result<IngestResult> IngestArrays(const FolderListing& listing);

// True when the first readable .npz holds "x" [c,h,w] and "y" [h,w].
bool LooksLikeSamples(const FolderListing& listing);
base::Result<IngestResult> IngestSamples(const FolderListing& listing,
                                         const IngestOptions& options);

}  // namespace stepslack::data
