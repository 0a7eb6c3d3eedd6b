#include "artifact_writer.h"

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::review {

base::Status ArtifactWriter::Write(const std::string& path, std::string_view content) {
  SS_TRY(objects_[path], room_.PutBytes(content));
  return base::WriteFileAtomic(base::JoinPath(room_.path(), path), content);
}

base::Status ArtifactWriter::WriteArtifact(const std::string& name,
                                           const std::string& path,
                                           std::string_view content) {
  SS_RETURN_IF_ERROR(Write(path, content));
  artifacts_.push_back({.name = name, .path = path, .sha256 = objects_[path]});
  return {};
}

base::Status ArtifactWriter::ListExisting(const std::string& name,
                                          const std::string& path) {
  SS_TRY(std::string digest, base::Sha256OfFile(base::JoinPath(room_.path(), path)));
  artifacts_.push_back({.name = name, .path = path, .sha256 = std::move(digest)});
  return {};
}

std::string ArtifactName(const std::string& section_id) {
  static const std::map<std::string, std::string> names{
      {"quality", "quality report"},
      {"maps", "map gallery"},
      {"scaling", "scaling efficiency chart"},
      {"comms-profile", "comms profile"},
      {"timeline", "training timeline"},
      {"time-to-accuracy", "time to accuracy"},
      {"before-after", "before/after chart"},
      {"augmentation", "augmentation effect report"},
      {"hyperparameters", "hyperparameter tracker"},
      {"reproducibility", "reproducibility report"},
      {"latency", "runtime profile"},
      {"training-log", "multi-node training log"},
      {"lineage", "data lineage"},
      {"split-audit", "split audit"}};
  const auto found = names.find(section_id);
  return found != names.end() ? found->second : section_id;
}

base::Status RestoreFiles(store::Room& room,
                          const std::map<std::string, std::string>& objects) {
  for (const auto& [path, digest] : objects) {
    const std::string target = base::JoinPath(room.path(), path);
    const auto present = base::Sha256OfFile(target);
    if (present && *present == digest) continue;
    SS_TRY(const std::string content, room.GetBytes(digest));
    SS_RETURN_IF_ERROR(base::WriteFileAtomic(target, content));
  }
  return {};
}

}  // namespace stepslack::review
