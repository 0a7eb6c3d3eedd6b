// Files of a review in the room, with their digests, and the copies of them among the
// room's objects from which an unchanged review is restored.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/evidence/review.h"
#include "stepslack/render/report.h"
#include "stepslack/store/room.h"

namespace stepslack::review {

class ArtifactWriter {
 public:
  explicit ArtifactWriter(store::Room& room) : room_(room) {}

  // Writes room/path and keeps the content as an object.
  base::Status Write(const std::string& path, std::string_view content);
  // The same, listed as an artifact under `name`.
  base::Status WriteArtifact(const std::string& name, const std::string& path,
                             std::string_view content);
  // A file that already lies in the room.
  base::Status ListExisting(const std::string& name, const std::string& path);

  const std::vector<evidence::Artifact>& artifacts() const { return artifacts_; }
  // path -> object, for StageOutput.
  const std::map<std::string, std::string>& objects() const { return objects_; }

 private:
  store::Room& room_;
  std::vector<evidence::Artifact> artifacts_;
  std::map<std::string, std::string> objects_;
};

// Name under which a section's numbers are cited as an artifact.
std::string ArtifactName(const std::string& section_id);

// Writes every file of `objects` whose content in the room is not what it was.
base::Status RestoreFiles(store::Room& room,
                          const std::map<std::string, std::string>& objects);

}  // namespace stepslack::review
